/**
 * How keys become actions, while a lane's picture has the focus. By default a lane waits for its people; in real time a key
 * counts for as long as it is held. Where two act in one lane, each key is one person's; a key that several have goes to the
 * one whose action is awaited, or whose turn it is.
 */

import type { Action, KeyBinding } from '../messages.ts';

const NAMES: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ' ': 'space',
  Enter: '⏎'
};
const IGNORED = ['Tab', 'Escape', 'Shift', 'Control', 'Alt', 'Meta', 'CapsLock'];

/** A person at the keys: what the keys need of a `Pad`. */
export interface Player {
  readonly keys: readonly KeyBinding[];
  /** An action is awaited of this person. */
  readonly awaited: boolean;
  readonly turn: boolean;
  readonly realtime: boolean;
  /** An action was chosen and now gets a key. */
  readonly rebinding: boolean;
  /** Answer with an action, once. */
  play(action: Action): void;
  /** In real time: begin an action; null ends it. */
  press(action: Action | null): void;
  takeKey(key: string): void;
  cancelRebinding(): void;
}

export function keyName(key: string): string {
  return NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** The same action: actions may be lists. */
export function same(one: Action, other: Action): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The binding of a key; of a letter in whatever case, if not in this one. */
export function boundTo(keys: readonly KeyBinding[], key: string): KeyBinding | undefined {
  return (
    keys.find(([bound]) => bound === key) ?? keys.find(([bound]) => bound.toLowerCase() === key.toLowerCase())
  );
}

/** The keys after `key` was given to `action`: taken from whatever had it, in place of what the action had. */
export function rebound(keys: readonly KeyBinding[], key: string, action: Action): KeyBinding[] {
  return [...keys.filter(([bound, other]) => bound !== key && !same(other, action)), [key, action]];
}

/** Play with the keys pressed in `stage`, for as long as `players()` are there. */
export function playWithKeys(stage: HTMLElement, players: () => readonly Player[]): void {
  const held = new Map<string, [Player, Action]>(); // in real time, in order
  stage.addEventListener('keydown', event => {
    const all = players();
    if (!all.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const chooser = all.find(player => player.rebinding);
    if (event.key === 'Escape') {
      event.stopPropagation();
      if (chooser) chooser.cancelRebinding();
      else stage.blur();
      return;
    }
    if (IGNORED.includes(event.key)) return;
    // JupyterLab's own keys (a, b, x, arrows …) are not meant while a person plays.
    event.preventDefault();
    event.stopPropagation();
    if (chooser) {
      chooser.takeKey(event.key);
      return;
    }
    const able = all.filter(player => boundTo(player.keys, event.key));
    const player = able.find(one => one.awaited) ?? able.find(one => one.turn) ?? able[0];
    const [, action = null] = boundTo(player?.keys ?? [], event.key) ?? [];
    if (!player) return;
    if (!player.realtime) {
      if (!event.repeat || player.awaited) player.play(action);
    } else if (!event.repeat) {
      held.set(event.key, [player, action]);
      player.press(action);
    }
  });
  stage.addEventListener('keyup', event => {
    if (!players().length) return;
    event.stopPropagation();
    const [player] = held.get(event.key) ?? [];
    if (!player) return;
    held.delete(event.key);
    const before = [...held.values()].filter(([other]) => other === player).at(-1);
    player.press(before ? before[1] : null);
  });
  stage.addEventListener('blur', () => {
    for (const player of new Set([...held.values()].map(([player]) => player))) player.press(null);
    held.clear();
  });
  // JupyterLab takes the focus for the cell when its output is clicked.
  stage.addEventListener('mousedown', event => {
    if (players().length) event.stopPropagation();
  });
  stage.addEventListener('click', () => {
    if (players().length) stage.focus({ preventScroll: true });
  });
}
