import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import {
  duration,
  fineNumber,
  integerText,
  milliseconds,
  number,
  settingText,
  share
} from '../src/shared/numbers.ts';

/** Texts by value, which `tests/widgets/runs/test_texts.py` also checks for the kernel. */
type Texts = readonly (readonly [number | null, string])[];
const shared = JSON.parse(readFileSync(new URL('number-texts.json', import.meta.url), 'utf8')) as {
  number: Texts;
  duration: Texts;
  milliseconds: Texts;
};

test('numbers and durations are formatted as in the kernel', () => {
  for (const [value, text] of shared.number) assert.equal(number(value), text);
  for (const [value, text] of shared.duration) assert.equal(duration(value), text);
  for (const [value, text] of shared.milliseconds) assert.equal(milliseconds(value), text);
  assert.deepEqual([number(Number.NaN), number(-Infinity), integerText(12_345.6)], ['–', '−∞', '12,346']);
});

test('values at the pointer have four digits', () => {
  assert.deepEqual([438.25, 0.01234, 1e-7, -12345, null].map(fineNumber), [
    '438.2',
    '0.01234',
    '1e-07',
    '−12,345',
    '–'
  ]);
});

test('settings are exact', () => {
  const settings = [0.0003, 2.5e-5, 1024, 0.99995, 0.1 + 0.2, true, 'adam', [64, 64], null];
  assert.deepEqual(settings.map(settingText), [
    ...['0.0003', '2.5e-05', '1,024', '0.99995', '0.3', 'true', 'adam', '[64,64]', '–']
  ]);
  assert.equal(share(0.6), '0.60');
});
