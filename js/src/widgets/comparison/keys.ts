/**
 * Maps keys to actions while a lane's picture has the focus. By default a lane waits for its players; in real
 * time a key counts while it is held. If two players act in one lane, each key belongs to one of them; a
 * shared key goes to the player whose action is awaited, or whose turn it is.
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

/** Where a lane reads keys: its picture, or a square of its board. */
const READS_KEYS = '.mosaic-playable, .mosaic-square[tabindex="0"]';
/** A click on these does not move the focus there. */
const NOT_PLAYING = '.mosaic-stop, .mosaic-tile-tools, .mosaic-pad-typed';

/** A player at the keyboard: the part of a `Pad` needed for keys. */
export interface Player {
  readonly keys: readonly KeyBinding[];
  /** An action of this player is awaited. */
  readonly awaited: boolean;
  readonly turn: boolean;
  readonly realtime: boolean;
  /** An action was selected and will get a new key. */
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

/** Whether two actions are equal; actions may be lists. */
export function isSameAction(a: Action, b: Action): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The binding of a key; for a letter without a binding, that of the other case. */
export function boundTo(keys: readonly KeyBinding[], key: string): KeyBinding | undefined {
  return (
    keys.find(([bound]) => bound === key) ?? keys.find(([bound]) => bound.toLowerCase() === key.toLowerCase())
  );
}

/** The keys after assigning `key`, taken from its previous action, as the only one of `action`. */
export function rebound(keys: readonly KeyBinding[], key: string, action: Action): KeyBinding[] {
  return [...keys.filter(([bound, other]) => bound !== key && !isSameAction(other, action)), [key, action]];
}

/** Play with the keys pressed in `stage`, while `players()` are present. */
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
    // JupyterLab's own keys (a, b, x, arrows …) are disabled while a player plays.
    event.preventDefault();
    event.stopPropagation();
    if (chooser) {
      chooser.takeKey(event.key);
      return;
    }
    const able = all.filter(player => boundTo(player.keys, event.key));
    const player = able.find(candidate => candidate.awaited) ?? able.find(one => one.turn) ?? able[0];
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
  // JupyterLab moves the focus to the cell when its output is clicked.
  stage.addEventListener('mousedown', event => {
    if (players().length) event.stopPropagation();
  });
  stage.addEventListener('click', () => {
    if (players().length) stage.focus({ preventScroll: true });
  });
}

/**
 * After a click, for example on Run, give the keyboard to the player without another click on the picture: to
 * the one of the clicked lane, or who played last. A button pressed with a key keeps the focus. Returns a
 * function that ends this.
 */
export function keepFocusOnKeys(el: HTMLElement): () => void {
  let last: Element | null = null;
  const follow = ({ target }: FocusEvent) => {
    if (target instanceof Element && target.matches(READS_KEYS)) last = target.closest('.mosaic-lane');
  };
  const focus = ({ target, detail }: MouseEvent) => {
    if (detail === 0 || !(target instanceof Element)) return;
    if (!target.closest('button') || target.closest(NOT_PLAYING)) return;
    const readers = [...el.querySelectorAll<HTMLElement>(READS_KEYS)];
    const of = (lane: Element | null) => readers.find(node => lane?.contains(node));
    (of(target.closest('.mosaic-lane')) ?? of(last) ?? readers[0])?.focus({ preventScroll: true });
  };
  el.addEventListener('focusin', follow);
  el.addEventListener('click', focus);
  return () => {
    el.removeEventListener('focusin', follow);
    el.removeEventListener('click', focus);
  };
}
