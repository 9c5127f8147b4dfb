import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunRow } from '../src/shared/run-api.ts';
import { choiceNames, pairOf, shownSections } from '../src/views/workspace/difference-rows.ts';

const row = (name: string, first: string, second: string) => ({
  name,
  values: [first, second] as const,
  same: first === second
});
const sections = [
  { title: 'Hyperparameters', rows: [row('gamma', '0.9', '0.99'), row('batch', '32', '32')] },
  { title: 'Packages', rows: [row('torch', '2.0', '2.0')] }
];

test('differing values are shown, and equal ones are counted', () => {
  const [first, second] = shownSections(sections, false, '');
  assert.deepEqual([first?.rows.map(({ name }) => name), first?.same, first?.differ], [['gamma'], 1, 1]);
  assert.deepEqual([second?.rows.length, second?.same, second?.differ], [0, 1, 0]);
  assert.equal(shownSections(sections, true, '')[0]?.rows.length, 2);
});

test('a search matches names and values', () => {
  assert.deepEqual(
    shownSections(sections, true, ' TORCH ').map(({ rows }) => rows.length),
    [0, 1]
  );
  assert.equal(shownSections(sections, false, '0.99')[0]?.rows[0]?.name, 'gamma');
});

test('runs with the same name are distinguished by their seeds, then by their ids', () => {
  const run = (id: string, name: string, seed: number | null) => ({ id, name, seed }) as unknown as RunRow;
  const rows = [
    run('x-aaaa', 'ppo', 1),
    run('x-bbbb', 'ppo', 2),
    run('x-cccc', 'ppo', 2),
    run('x-dddd', 'dqn', 1)
  ];
  assert.deepEqual(choiceNames(rows, new Map()), ['seed 1', 'seed 2 (bbbb)', 'seed 2 (cccc)', 'dqn']);
});

test('words common to all names with a seed are omitted', () => {
  const called = ['ppo CartPole-v1 seed 1', 'ppo CartPole-v1 seed 12', 'evaluation CartPole-v1'].map(
    name => ({ id: name, name, seed: null })
  );
  assert.deepEqual(choiceNames(called as unknown as RunRow[], new Map()), [
    'seed 1',
    'seed 12',
    'evaluation'
  ]);
});

test('the chosen pair is kept while both of its runs exist', () => {
  assert.deepEqual(pairOf(null, ['a', 'b', 'c']), ['a', 'b']);
  assert.deepEqual(pairOf(['c', 'a'], ['a', 'b', 'c']), ['c', 'a']);
  assert.deepEqual(pairOf(['c', 'x'], ['a', 'b', 'c']), ['a', 'b']);
  assert.equal(pairOf(null, ['a']), null);
});
