import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  callName,
  complete,
  headText,
  laneChip,
  laneFaults,
  moveFault,
  reasoningText,
  tokensText,
  writingText
} from '../src/widgets/comparison/card-text.ts';
import type { Lane, Move, ShownExchanges } from '../src/widgets/messages.ts';

const MOVE: Move = {
  agent: 'agent_0',
  text: 'go forward',
  reasoning: '',
  fault: '',
  fault_text: '',
  model_faults: [],
  reward: '1',
  latency: '12 ms',
  tokens: ['1,234', '56']
};
const LANE: Pick<Lane, 'moves' | 'several' | 'speaks' | 'state' | 'blank'> = {
  moves: [],
  several: false,
  speaks: true,
  state: 'ready',
  blank: ''
};

describe('the reasons on a lane’s card', () => {
  test('of a language model have a placeholder before the first answer', () => {
    assert.equal(reasoningText(LANE, false).open, 'Its reasoning will appear here.');
  });

  test('have no placeholder in a failed lane, an ended lane or an ended comparison', () => {
    assert.equal(reasoningText({ ...LANE, state: 'failed' }, false).open, '');
    assert.equal(reasoningText({ ...LANE, state: 'stopped' }, false).open, '');
    assert.equal(reasoningText(LANE, true).open, '');
  });

  test('are folded if they are long, except a language model’s', () => {
    const moves = [{ ...MOVE, reasoning: 'because '.repeat(20) }];
    assert.equal(reasoningText({ ...LANE, moves }, false).folded, '');
    const { open, folded } = reasoningText({ ...LANE, moves, speaks: false }, false);
    assert.deepEqual([open, folded.length], ['', 160]);
  });

  test('name their agents if several act', () => {
    const moves = [
      { ...MOVE, reasoning: 'up' },
      { ...MOVE, agent: 'agent_1', reasoning: 'down' }
    ];
    assert.equal(reasoningText({ ...LANE, moves, several: true }, false).open, 'agent_0: up\nagent_1: down');
  });
});

describe('a move', () => {
  test('shows the fault of its model’s answer, with an explanation', () => {
    const refused: Move = {
      ...MOVE,
      model_faults: [
        ['refused', 'the content filter'],
        ['default action', 'played']
      ]
    };
    assert.deepEqual(moveFault(refused), {
      text: 'refused',
      hint: 'refused: the content filter\ndefault action: played'
    });
    assert.deepEqual(moveFault({ ...refused, fault: 'late', fault_text: 'no answer' }), {
      text: 'late',
      hint: 'no answer'
    });
    assert.deepEqual(moveFault(MOVE), { text: '', hint: '' });
  });

  test('shows tokens if a model was called', () => {
    assert.equal(tokensText(MOVE), '1,234 → 56 tokens');
    assert.equal(tokensText({ tokens: ['0', '0'] }), '');
  });
});

test('faults of several agents are one line each, followed by the reason for a missing picture', () => {
  const moves = [MOVE, { ...MOVE, agent: 'b', fault: 'late', fault_text: 'no answer within 1 s' }];
  const lane = { ...LANE, moves, several: true, blank: 'no pictures: it renders none' };
  assert.equal(laneFaults(lane), 'b: no answer within 1 s\nno pictures: it renders none');
});

test('a lane’s chip says how it ended, and is empty while the lane runs', () => {
  const going = { state: 'ready', done: false, flags: [] } as const;
  assert.equal(laneChip({ ...going, flags: [] }).text, '');
  assert.equal(laneChip({ ...going, done: true, flags: ['truncated'] }).text, 'ended: truncated');
  assert.deepEqual(laneChip({ ...going, state: 'opening', flags: [] }), {
    text: 'opening',
    tone: 'starting'
  });
});

describe('the heading of the exchanges', () => {
  const none = complete({});
  const two = { ...none, step: '4', calls: [{}, {}], earlier: 3 } as unknown as ShownExchanges;

  test('announces an exchange while its answer is incomplete', () => {
    assert.match(headText(none, true), /will appear here once the answer is complete/);
    assert.equal(headText(none, false), 'No exchange in the last step.');
  });

  test('names the calls that are shown', () => {
    assert.equal(headText(two, false), 'step 4, the last 2 of 5 calls');
    assert.equal(headText({ ...two, earlier: 0 }, true), 'step 4');
    assert.equal(callName(two, 1), 'call 5 of 5');
  });

  test('answers that several models write at the same time are labelled by name', () => {
    assert.equal(writingText([['a', 'go']]), 'go');
    assert.equal(
      writingText([
        ['a', 'go'],
        ['b', 'stay']
      ]),
      'a: go\nb: stay'
    );
  });
});
