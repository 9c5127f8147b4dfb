import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countText } from '../src/views/runs/run-text.ts';

test('large counts keep their zeros', () => {
  assert.deepEqual([999_499, 1_500_000, 2_000_000, 100_000_000, 1_000_000_000].map(countText), [
    '999k',
    '1.5M',
    '2M',
    '100M',
    '1,000M'
  ]);
});
