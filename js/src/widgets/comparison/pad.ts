/**
 * The buttons of one player: one for each action with its keys, a field for typed actions, and the assignment
 * of keys.
 */

import { button, option } from '../common/buttons.ts';
import { drawEach, element, setPressed, setText, setTextOrHide } from '../common/elements.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { Action, KeyBinding, Person } from '../messages.ts';
import { keyName, type Player, rebound, same } from './keys.ts';

const SMALL = 'mosaic-button mosaic-small';

export interface PadActions {
  /** Play an action in the kernel; in real time null ends it. */
  press: (agent: string, action: Action | null) => void;
  /** Change the keys; null: the environment's own. */
  bind: (agent: string, keys: KeyBinding[] | null) => void;
  /** Move the focus to where keys are read. */
  focus: () => void;
}

interface ActionButton {
  el: HTMLButtonElement;
  key: HTMLElement;
  name: HTMLElement;
}

export class Pad implements Player {
  person: Person;
  keys: readonly KeyBinding[] = [];
  awaited = false;
  private readonly actions: PadActions;
  private readonly el: HTMLElement;
  private readonly name: HTMLElement;
  private readonly message: HTMLElement;
  private readonly change: HTMLButtonElement;
  private readonly restore: HTMLButtonElement;
  private readonly text: HTMLElement;
  private readonly list: HTMLElement;
  private readonly typed: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly moves: HTMLElement;
  private own: KeyBinding[] | null = null;
  private several = false;
  /** The last request answered. */
  private answered: string | null = null;
  private changing = false;
  /** The action that will get a new key. */
  private chosen: { action: Action } | null = null;

  constructor(parent: Node, person: Person, actions: PadActions) {
    this.person = person;
    this.actions = actions;
    this.el = element('div', 'mosaic-pad', parent);
    this.el.setAttribute('role', 'group');
    this.el.setAttribute('aria-label', `actions of ${person.agent}`);
    const head = element('div', 'mosaic-pad-head', this.el);
    this.name = element('b', '', head);
    this.message = element('span', 'mosaic-pad-message', head);
    const toggle = () => this.toggleChanging();
    this.change = button(head, 'Keys', 'Choose other keys', toggle, `${SMALL} mosaic-toggle`);
    const restore = () => this.actions.bind(this.person.agent, null);
    const hint = 'The keys that the environment comes with';
    this.restore = button(head, 'Default keys', hint, restore, SMALL);
    this.text = element('pre', 'mosaic-pad-text', this.el);
    this.text.setAttribute('aria-label', `what ${person.agent} may know`);
    this.text.tabIndex = 0; // it may overflow and scroll
    this.list = element('div', 'mosaic-pad-actions', this.el);
    this.typed = element('div', 'mosaic-pad-typed', this.el);
    this.field = element('input', 'mosaic-number', this.typed);
    this.field.required = true;
    this.field.step = '1';
    suppressShortcuts(this.field);
    this.moves = element('datalist', '', this.typed);
    this.moves.id = `mosaic-moves-${Math.random().toString(36).slice(2)}`;
    this.field.onkeydown = event => {
      if (event.key === 'Enter') this.submit();
    };
    button(this.typed, 'Play', 'Play what is typed (Enter)', () => this.submit());
  }

  get turn(): boolean {
    return this.person.turn;
  }

  get realtime(): boolean {
    return this.person.realtime;
  }

  get rebinding(): boolean {
    return this.chosen !== null;
  }

  /** `own`: the keys chosen here; `several`: more than one player in this lane. */
  draw(person: Person, own: KeyBinding[] | null, several: boolean): void {
    this.person = person;
    this.own = own;
    this.several = several;
    this.keys = own ?? person.keys;
    this.awaited = person.request !== null && person.request !== this.answered;
    this.drawHead();
    // The last text remains between turns, unless another player uses the same screen.
    if (person.text !== null || several || !this.text.textContent)
      setTextOrHide(this.text, person.text ?? '');
    this.drawField();
    const key = ([action]: Person['actions'][number]) => JSON.stringify(action);
    drawEach(
      this.list,
      person.actions,
      key,
      ([action]) => this.actionButton(action),
      (item, [action, name]) => {
        this.drawAction(item, action, name);
      }
    );
  }

  /** The answer could not be played. */
  refuse(): void {
    this.answered = null;
  }

  /** Answer the awaited request once. */
  play(action: Action): void {
    if (this.person.request !== null && this.person.request === this.answered) return;
    this.answered = this.person.request;
    this.press(action);
  }

  press(action: Action | null): void {
    this.actions.press(this.person.agent, action);
  }

  takeKey(key: string): void {
    if (!this.chosen) return;
    const keys = rebound(this.keys, key, this.chosen.action);
    this.chosen = null;
    this.actions.bind(this.person.agent, keys);
  }

  cancelRebinding(): void {
    this.toggleChanging();
  }

  private toggleChanging(): void {
    this.changing = !this.changing;
    this.chosen = null;
    this.redraw();
  }

  private chooseKeyFor(action: Action): void {
    this.chosen = { action };
    this.redraw();
    this.actions.focus();
  }

  private redraw(): void {
    this.draw(this.person, this.own, this.several);
  }

  private drawHead(): void {
    const { agent, early, realtime, typed } = this.person;
    this.el.classList.toggle('mosaic-awaited', this.awaited);
    setText(this.name, this.several ? agent : 'You');
    const changing = this.chosen ? 'now press its key' : this.changing ? 'choose an action' : '';
    const playing = realtime ? 'real time: hold a key' : this.awaited ? 'your turn' : early;
    setText(this.message, changing || playing);
    this.message.title = early;
    this.restore.hidden = !this.changing || !this.own;
    setText(this.change, this.changing ? 'Done' : 'Keys');
    setPressed(this.change, this.changing);
    this.change.hidden = typed;
  }

  /** The typed action: a named move, free text, or the number of an action. */
  private drawField(): void {
    const { agent, bounds, moves, typed, words } = this.person;
    this.typed.hidden = !typed;
    const kind = moves || words ? 'text' : 'number';
    if (this.field.type !== kind) this.field.type = kind;
    this.field.setAttribute('aria-label', `${moves ? 'move' : 'action'} of ${agent}`);
    if (bounds) [this.field.min, this.field.max] = bounds.map(String) as [string, string];
    if (moves) this.field.setAttribute('list', this.moves.id);
    else this.field.removeAttribute('list');
    drawEach(
      this.moves,
      moves ?? [],
      move => move,
      move => ({ el: option(null, move, '') })
    );
  }

  private submit(): void {
    if (!this.field.reportValidity()) return;
    const { moves, words } = this.person;
    this.play(moves || words ? this.field.value.trim() : Number(this.field.value));
    this.field.value = '';
  }

  private drawAction({ el, key, name: label }: ActionButton, action: Action, name: string): void {
    const { legal } = this.person;
    const keys = this.keys.filter(([, bound]) => same(bound, action)).map(([bound]) => keyName(bound));
    setTextOrHide(key, keys.join(' '));
    setText(label, name);
    el.title = keys.length ? `${name}: key ${keys.join(' or ')}` : name;
    el.setAttribute('aria-label', el.title);
    el.disabled = !this.changing && legal !== null && !legal.includes(action);
    setPressed(el, this.chosen !== null && same(this.chosen.action, action));
  }

  private actionButton(action: Action): ActionButton {
    const el = button(null, '', '', () => {}, 'mosaic-button mosaic-play');
    // Held down in real time; a click without a pointer (a key on the button, a screen reader) is a short
    // press.
    el.onpointerdown = event => {
      if (this.changing || !this.realtime || event.button) return;
      el.setPointerCapture(event.pointerId);
      this.press(action);
    };
    el.onpointerup = el.onpointercancel = () => {
      if (!this.changing && this.realtime) this.press(null);
    };
    el.onclick = event => {
      if (this.changing) this.chooseKeyFor(action);
      else if (!this.realtime) this.play(action);
      else if (event.detail === 0) {
        this.press(action);
        this.press(null);
      }
    };
    return { el, key: element('kbd', '', el), name: element('span', '', el) };
  }
}
