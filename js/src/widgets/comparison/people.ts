/**
 * The players of a lane: their pads, a chess board over its picture, and the keys while the picture has the
 * focus.
 */

import type { Tile } from '../frames/tile.ts';
import type { Action, Bindings, KeyBinding, Lane } from '../messages.ts';
import { Board } from './board.ts';
import { playWithKeys } from './keys.ts';
import { Pad } from './pad.ts';

export interface PeopleActions {
  press: (agent: string, action: Action | null) => void;
  bind: (agent: string, keys: KeyBinding[] | null) => void;
}

export class People {
  private readonly el: HTMLElement;
  private readonly tile: Tile;
  private readonly actions: PeopleActions;
  private readonly board = new Board();
  private pads: Pad[] = [];

  constructor(el: HTMLElement, tile: Tile, actions: PeopleActions) {
    this.el = el;
    this.tile = tile;
    this.actions = actions;
    playWithKeys(tile.stage, () => this.pads);
  }

  /** Whether a player plays here. */
  get present(): boolean {
    return this.pads.length > 0;
  }

  /** Whether a player's action is awaited. */
  get awaited(): boolean {
    return this.pads.some(pad => pad.awaited);
  }

  /** Move the focus to a player's keys. */
  focus(): void {
    if (this.board.el.isConnected) this.board.focus();
    else this.tile.stage.focus({ preventScroll: true });
  }

  refuse(): void {
    for (const pad of this.pads) pad.refuse();
    this.board.refuse();
  }

  draw({ people, label }: Lane, closed: boolean, bindings: Bindings[string]): void {
    if (people.map(({ agent }) => agent).join('\n') !== this.pads.map(pad => pad.person.agent).join('\n')) {
      this.el.replaceChildren();
      const actions = { ...this.actions, focus: () => this.tile.stage.focus() };
      this.pads = people.map(person => new Pad(this.el, person, actions));
    }
    people.forEach((person, i) => {
      this.pads[i]?.draw(person, bindings[person.agent] ?? null, people.length > 1);
    });
    const mover = this.pads.find(({ person }) => person.board) ?? null;
    if (mover && !this.board.el.isConnected) this.tile.picture.append(this.board.el);
    this.board.draw(mover);
    this.board.el.inert = this.el.inert = closed;
    this.setPlayable(label, this.present && !closed && !this.board.el.isConnected);
  }

  /** The picture takes the focus if a player plays with keys. */
  private setPlayable(label: string, playable: boolean): void {
    const { stage } = this.tile;
    stage.classList.toggle('mosaic-playable', playable);
    if (!playable) {
      stage.removeAttribute('tabindex');
      return;
    }
    stage.tabIndex = 0;
    stage.setAttribute('role', 'application');
    stage.setAttribute('aria-label', `Play ${label} with the keys; Escape leaves`);
  }
}
