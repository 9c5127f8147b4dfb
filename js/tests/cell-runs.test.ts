import assert from 'node:assert/strict';
import { test } from 'node:test';

import { runsShown } from '../src/extension/shown-runs.ts';

const panel = (runs: unknown) => ({ mosaic_lab: { output: 'b', panel: ['a', 'b', 'c'], shows: { runs } } });

test('a cell shows the runs of its last panel', () => {
  assert.deepEqual(runsShown([{}, panel(['first']), { mosaic_lab: { output: 'c' } }, panel(['x', 'y'])]), [
    'x',
    'y'
  ]);
  assert.deepEqual(runsShown([{}, { other: 1 }]), []);
});

test('malformed or foreign metadata is ignored', () => {
  for (const runs of [undefined, null, 'abc', [], [1, 2], ['a', {}]]) {
    assert.deepEqual(runsShown([panel(runs)]), []);
  }
});
