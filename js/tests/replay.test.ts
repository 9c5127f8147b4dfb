import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameOf, keyTarget, momentOf } from '../src/widgets/replays/moments.ts';

test('a step shows the newest frame up to it, and seeks to the middle of that frame', () => {
  const every = [0, 1, 2, 3];
  assert.deepEqual(
    [0, 2, 3, 9].map(step => frameOf(every, step)),
    [0, 2, 3, 3]
  );
  const third = [0, 3, 6, 7];
  assert.deepEqual(
    [0, 2, 3, 5, 6, 7].map(step => frameOf(third, step)),
    [0, 0, 1, 1, 2, 3]
  );
  assert.equal(momentOf(2, 10), 0.25);
});

test('keys seek within the steps of the episode', () => {
  const keys = ['ArrowLeft', 'ArrowRight', 'PageUp', 'PageDown', 'Home', 'End', 'x'];
  assert.deepEqual(
    keys.map(key => keyTarget(key, 4, 12)),
    [3, 5, 0, 12, 0, 12, null]
  );
  assert.equal(keyTarget('ArrowRight', 12, 12), 12);
});
