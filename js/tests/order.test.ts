import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ordered, type SortValue, settingValue } from '../src/shared/order.ts';

function inOrder(values: readonly SortValue[], descending = false): SortValue[] {
  return ordered(values, value => value, descending);
}

test('rows are ordered by number or name, with missing values last', () => {
  assert.deepEqual(inOrder([1, null, 10, 2]), [1, 2, 10, null]);
  assert.deepEqual(inOrder([1, null, 10, 2], true), [10, 2, 1, null]);
  assert.deepEqual(inOrder(['b', null, 'a']), ['a', 'b', null]);
  assert.deepEqual(inOrder(['b', null, 'a'], true), ['b', 'a', null]);
  assert.deepEqual(inOrder(['layer 10', 'layer 9']), ['layer 9', 'layer 10'], 'numbers within names');
});

test('settings are ordered as numbers or as text', () => {
  assert.deepEqual([0.5, 'adam', true, [64, 64]].map(settingValue), [0.5, 'adam', 'true', '[64,64]']);
  assert.deepEqual([null, undefined, ''].map(settingValue), [null, null, null]);
});
