import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameParts, shortened, truncatedParts, wordsAlike } from '../src/shared/names.ts';

const NAMES = ['cleanrl ppo CartPole-v1 seed 1', 'cleanrl ppo CarRacing-v3 seed 1', 'baseline'];

test('common words of default names are cut first, distinguishing words last, a seed never', () => {
  const alike = wordsAlike(NAMES);
  const parts = (name: string) => nameParts(name, alike).map(({ text, kind }) => [kind, text]);
  assert.deepEqual(parts('cleanrl ppo CarRacing-v3 seed 1'), [
    ['alike', 'cleanrl ppo'],
    ['own', ' CarRacing-v3'],
    ['end', ' seed 1']
  ]);
  assert.deepEqual(parts('my  baseline'), [
    ['own', 'my'],
    ['own', '  baseline']
  ]);
  assert.deepEqual(parts('seed 3'), [
    ['own', 'seed'],
    ['own', ' 3']
  ]);
  assert.equal(wordsAlike(['cleanrl ppo A seed 1', 'sb3 dqn B seed 1']).size, 0);
});

test('a name with a long end or many words is cut in one place', () => {
  const texts = (name: string) => truncatedParts(name, wordsAlike(NAMES)).map(({ text }) => text);
  assert.deepEqual(texts('cleanrl ppo CartPole-v1 seed 1 (resumed)'), [
    'cleanrl ppo CartPole-v1',
    ' seed 1 (resumed)'
  ]);
  const league = 'league tictactoe_v3: random against passive';
  assert.deepEqual(texts(league), [league]);
  const trial = 'cleanrl ppo CartPole-v1 trial 0 seed 1';
  assert.ok(texts(trial).includes(' trial'), 'which distinguishes trials');
  assert.deepEqual(texts('cleanrl ppo CartPole-v1 seed 1'), ['cleanrl ppo', ' CartPole-v1', ' seed 1']);
});

test('the end of an id that distinguishes equal names is never cut', () => {
  const texts = (name: string) => truncatedParts(name, wordsAlike(NAMES)).map(({ text }) => text);
  const evaluation = 'evaluation CartPole-v1: a trained policy, another policy, random';
  assert.deepEqual(texts(`${evaluation} k3f9`), [evaluation, ' k3f9']);
  assert.deepEqual(texts('cleanrl ppo CartPole-v1 seed 1 k3f9').at(-1), ' seed 1 k3f9');
});

test('a name that is too long is cut in the middle', () => {
  const short = NAMES.map(name => shortened(name, 24));
  assert.deepEqual(short, ['cleanrl ppo …e-v1 seed 1', 'cleanrl ppo …g-v3 seed 1', 'baseline']);
});
