import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestSpeed } from '../src/widgets/comparison/card-text.ts';
import { movesFrom, neighbour, pieceName, piecesOf, promotionsOf } from '../src/widgets/comparison/chess.ts';
import { fitted } from '../src/widgets/frames/settings.ts';
import { choose, grouped } from '../src/widgets/panel/metrics.ts';

test('pictures fill the available room, small ones enlarged by integer factors', () => {
  const room = { width: 420, windowHeight: 1000, density: 1 };
  const picture = { width: 84, height: 84 };
  assert.deepEqual(fitted(picture, room, { scale: 'auto', size: 'medium' }), { factor: 5, sharp: true });
  assert.deepEqual(fitted(picture, { ...room, width: 150 }, { scale: 'auto', size: 'medium' }), {
    factor: 150 / 84,
    sharp: false
  });
  assert.deepEqual(fitted(picture, room, { scale: '1x', size: 'small' }), { factor: 1, sharp: true });
  assert.equal(
    fitted(picture, { ...room, density: 2, width: 210 }, { scale: 'pixel', size: 'medium' }).factor,
    2.5
  );
});

test('metrics are grouped if there are several groups, and the last chosen one cannot be removed', () => {
  const headings = (names: string[]) =>
    grouped(names, ['return']).map(({ heading, names }) => [heading, ...names]);
  assert.deepEqual(headings(['loss']), [['', 'loss']]);
  assert.deepEqual(headings(['return', 'system/memory_mb', 'loss']), [
    ['common to all workers', 'return'],
    ['specific to this library', 'loss'],
    ['system', 'system/memory_mb']
  ]);
  assert.deepEqual(choose(['a'], 'a', false, true), ['a']);
  assert.deepEqual(choose(['a'], 'b', true, true), ['a', 'b']);
  assert.deepEqual(choose(['a'], 'b', true, false), ['b']);
});

test('the slider is at the nearest speed', () => {
  assert.deepEqual(
    [7, 0, 500].map(speed => nearestSpeed([1, 5, 30, 0], speed)),
    [1, 3, 2]
  );
});

test('a chess position is parsed, and clicks choose among the legal moves', () => {
  const pieces = piecesOf('8/P6k/8/8/8/8/8/K7 w - - 0 1');
  assert.deepEqual(
    [...pieces],
    [
      ['a7', 'P'],
      ['h7', 'k'],
      ['a1', 'K']
    ]
  );
  assert.deepEqual(['P', 'k', undefined].map(pieceName), ['white pawn', 'black king', 'empty']);
  const moves = ['a7a8q', 'a7a8n', 'a1b1'];
  assert.deepEqual(movesFrom(moves, 'a7'), ['a7a8q', 'a7a8n']);
  assert.deepEqual(promotionsOf(movesFrom(moves, 'a7')), [
    ['queen', 'a7a8q'],
    ['knight', 'a7a8n']
  ]);
  assert.deepEqual(
    [neighbour('a1', [1, 0]), neighbour('a1', [-1, 0]), neighbour('h8', [0, 1])],
    ['b1', null, null]
  );
});
