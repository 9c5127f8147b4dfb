import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fittingWidth } from '../src/views/use-size.ts';

test('a narrow table is cut between two columns', () => {
  const columns = [80, 80, 120];
  assert.equal(fittingWidth(500, columns, 100), 220, 'all fit');
  assert.equal(fittingWidth(380, columns, 100), 100);
  assert.equal(fittingWidth(379, columns, 100), 219, 'the last one is left out');
  assert.equal(fittingWidth(230, columns, 100), 150);
  assert.equal(fittingWidth(90, columns, 100), 100, 'never below its least width');
});
