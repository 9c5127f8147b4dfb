import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Credit } from '../src/widgets/frames/credit.ts';

const NOTHING_TO_DRAW = Number.POSITIVE_INFINITY;

test('a message is acknowledged once all of its frames were drawn', () => {
  const credit = new Credit();
  credit.received(1, true);
  assert.equal(credit.due(1), null, 'a tile still has a frame of it');
  assert.equal(credit.due(NOTHING_TO_DRAW), 1);
  assert.equal(credit.due(NOTHING_TO_DRAW), null, 'once is enough');
});

test('an acknowledgement covers all earlier messages', () => {
  const credit = new Credit();
  for (const id of [1, 2, 3]) credit.received(id, true);
  assert.equal(credit.due(3), 2);
  assert.equal(credit.due(NOTHING_TO_DRAW), 3);
});

test('messages that request no acknowledgement get none of their own', () => {
  const credit = new Credit();
  credit.received(1, false);
  assert.equal(credit.due(NOTHING_TO_DRAW), null);
  credit.received(2, true);
  credit.received(3, false);
  assert.equal(credit.due(NOTHING_TO_DRAW), 3);
});

test('a new connection starts counting again', () => {
  const credit = new Credit();
  credit.received(8, true);
  credit.reset();
  assert.equal(credit.due(NOTHING_TO_DRAW), null);
  credit.received(1, true);
  assert.equal(credit.due(NOTHING_TO_DRAW), 1);
});
