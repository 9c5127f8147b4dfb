import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TrialCell } from '../src/widgets/messages.ts';
import { sorted } from '../src/widgets/panel/trial-order.ts';

const cell = (key: TrialCell['key']): TrialCell => ({ text: String(key), key, hint: '' });
const rows = [
  [cell(1), cell('b')],
  [cell(10), cell(null)],
  [cell(2), cell('a')]
];
const column = (found: TrialCell[][], i: number) => found.map(row => row[i]?.key);

test('trials are sorted by numbers and by names, and those without a value are last', () => {
  assert.deepEqual(column(sorted(rows, { column: 0, descending: true }), 0), [10, 2, 1]);
  assert.deepEqual(column(sorted(rows, { column: 0, descending: false }), 0), [1, 2, 10]);
  assert.deepEqual(column(sorted(rows, { column: 1, descending: false }), 1), ['a', 'b', null]);
  assert.deepEqual(column(sorted(rows, { column: 1, descending: true }), 1), ['b', 'a', null]);
});
