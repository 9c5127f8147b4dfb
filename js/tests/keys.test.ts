import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { boundTo, keyName, type Player, playWithKeys, rebound } from '../src/widgets/comparison/keys.ts';
import type { Action, KeyBinding } from '../src/widgets/messages.ts';
import { FakeElement, keyEvent } from './page.ts';

class FakePlayer implements Player {
  done: unknown[] = [];
  awaited = true;
  turn = false;
  realtime = false;
  rebinding = false;
  readonly keys: readonly KeyBinding[];

  constructor(keys: readonly KeyBinding[]) {
    this.keys = keys;
  }

  play(action: Action): void {
    this.done.push(['play', action]);
  }

  press(action: Action | null): void {
    this.done.push(['press', action]);
  }

  takeKey(key: string): void {
    this.done.push(['key', key]);
  }

  cancelRebinding(): void {
    this.done.push(['cancel']);
  }
}

describe('the keys of a lane', () => {
  let stage: FakeElement;
  let left: FakePlayer;
  let right: FakePlayer;
  const send = (type: 'keydown' | 'keyup', key: string, more: object = {}) => {
    const event = keyEvent(type, key, more);
    stage.dispatchEvent(event);
    return event;
  };

  beforeEach(() => {
    stage = new FakeElement();
    left = new FakePlayer([
      ['a', 0],
      [' ', 2]
    ]);
    right = new FakePlayer([
      ['ArrowLeft', 0],
      [' ', 3]
    ]);
    playWithKeys(stage as unknown as HTMLElement, () => [left, right]);
  });

  test('a key plays its own player’s action, regardless of case', () => {
    assert.equal(send('keydown', 'A').defaultPrevented, true);
    send('keydown', 'ArrowLeft');
    assert.deepEqual([left.done, right.done], [[['play', 0]], [['play', 0]]]);
  });

  test('a key shared by two players goes to the one whose action is awaited', () => {
    left.awaited = false;
    send('keydown', ' ');
    assert.deepEqual([left.done, right.done], [[], [['play', 3]]]);
  });

  test('a key without an action does nothing and does not reach JupyterLab', () => {
    assert.equal(send('keydown', 'x').defaultPrevented, true);
    assert.deepEqual([...left.done, ...right.done], []);
  });

  test('shortcuts and Tab are left to the browser', () => {
    assert.equal(send('keydown', 'a', { ctrlKey: true }).defaultPrevented, false);
    assert.equal(send('keydown', 'Tab').defaultPrevented, false);
    assert.deepEqual(left.done, []);
  });

  test('a held key repeats only while an action is awaited', () => {
    left.awaited = false;
    send('keydown', 'a', { repeat: true });
    assert.deepEqual(left.done, []);
    left.awaited = true;
    send('keydown', 'a', { repeat: true });
    assert.deepEqual(left.done, [['play', 0]]);
  });

  test('in real time a key acts while it is held; its release resumes the key held before', () => {
    left.realtime = true;
    send('keydown', 'a');
    send('keydown', 'a', { repeat: true });
    send('keydown', ' ');
    send('keyup', ' ');
    send('keyup', 'a');
    assert.deepEqual(left.done, [
      ['press', 0],
      ['press', 2],
      ['press', 0],
      ['press', null]
    ]);
  });

  test('held keys are released when the picture loses the focus', () => {
    left.realtime = true;
    send('keydown', 'a');
    stage.blur();
    send('keyup', 'a');
    assert.deepEqual(left.done, [
      ['press', 0],
      ['press', null]
    ]);
  });

  test('Escape leaves the picture or cancels rebinding', () => {
    stage.focus();
    send('keydown', 'Escape');
    assert.equal(stage.focused, false);
    left.rebinding = true;
    send('keydown', 'Escape');
    send('keydown', 'q');
    assert.deepEqual(left.done, [['cancel'], ['key', 'q']]);
  });
});

test('a new key is taken from its former action and replaces the keys of its new one', () => {
  const keys: KeyBinding[] = [
    ['a', 0],
    ['b', [1, 0]],
    ['c', [1, 0]]
  ];
  assert.deepEqual(rebound(keys, 'a', [1, 0]), [['a', [1, 0]]]);
  assert.deepEqual(boundTo(keys, 'B'), ['b', [1, 0]]);
});

test('keys have readable names', () => {
  assert.deepEqual(['ArrowUp', ' ', 'a', 'F5'].map(keyName), ['↑', 'space', 'A', 'F5']);
});
