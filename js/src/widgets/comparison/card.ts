/** One lane: its operators, its picture, the numbers of its last step, and faults. */

import { button } from '../common/buttons.ts';
import { collapsibleText } from '../common/collapsible.ts';
import { element, setColor, setText, setTextOrHide, swatch } from '../common/elements.ts';
import type { Settings } from '../frames/settings.ts';
import { OFF, Tile, type TileOptions } from '../frames/tile.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { Bindings, Lane, Notice } from '../messages.ts';
import { isLive, laneChip, laneFacts, laneFaults, reasoningText } from './card-text.ts';
import { ExchangeView } from './exchange.ts';
import { drawFacts, drawMoves } from './moves.ts';
import { drawOperators } from './operators.ts';
import { People, type PeopleActions } from './people.ts';

/**
 * A tile whose notice is shown only in place of a missing picture, or if its picture is old; the card shows
 * the rest.
 */
class LaneTile extends Tile {
  override say(notice: Notice): void {
    super.say(notice);
    this.notice.hidden ||= !notice.text.startsWith(OFF);
    this.notice.textContent = 'Frames are off: this picture is of an earlier step.';
  }
}

export interface CardActions extends PeopleActions {
  /** Call a method of the comparison for this lane. */
  call: (name: 'step_lane' | 'restart') => void;
  request: TileOptions['request'];
}

export class Card {
  readonly el: HTMLElement;
  readonly tile: Tile;
  readonly people: People;
  readonly exchange: ExchangeView;
  private readonly swatch: HTMLElement;
  private readonly title: HTMLElement;
  private readonly operators: HTMLElement;
  private readonly facts: HTMLElement;
  private readonly totals: HTMLElement;
  private readonly moves: HTMLElement;
  private readonly reasoning: HTMLElement;
  private readonly drawReasons: (text: string) => void;
  private readonly faults: HTMLElement;
  private readonly failure: HTMLElement;
  private readonly drawLog: (text: string) => void;
  private readonly step: HTMLButtonElement;
  private readonly restart: HTMLButtonElement;
  private readonly thinking: HTMLElement;
  private readonly chip: HTMLElement;

  constructor(parent: Node, settings: Settings, actions: CardActions) {
    this.el = element('section', 'mosaic-lane', parent);
    const head = element('div', 'mosaic-tile-head mosaic-lane-head', this.el);
    this.swatch = swatch(head);
    this.title = element('span', 'mosaic-title', head);
    this.operators = element('div', 'mosaic-operators', this.el);
    const body = element('div', 'mosaic-lane-body', this.el);
    this.tile = new LaneTile(body, { label: '', settings, request: actions.request, bar: head });
    suppressShortcuts(this.tile.stage);
    this.facts = element('div', 'mosaic-numbers mosaic-lane-facts', body);
    this.totals = element('div', 'mosaic-numbers mosaic-lane-facts', body);
    this.moves = element('div', 'mosaic-moves', body);
    this.people = new People(element('div', 'mosaic-people', body), this.tile, actions);
    this.reasoning = element('div', 'mosaic-reasoning', body);
    this.drawReasons = collapsibleText(body, 'Reasoning', 'mosaic-reasons');
    this.exchange = new ExchangeView(body, this.reasoning);
    this.faults = element('div', 'mosaic-notice mosaic-warning', body);
    this.failure = element('div', 'mosaic-notice mosaic-error', body);
    this.failure.setAttribute('role', 'alert');
    this.drawLog = collapsibleText(body, 'Log');
    const foot = element('div', 'mosaic-lane-foot', body);
    this.step = button(foot, 'Step lane', '', () => actions.call('step_lane'));
    this.restart = button(foot, 'Restart', '', () => actions.call('restart'));
    this.thinking = element('span', 'mosaic-thinking', foot);
    this.chip = element('span', 'mosaic-chip', foot);
  }

  /** `closed`: the comparison has ended. `bindings`: the keys changed in this page. */
  draw(lane: Lane, closed: boolean, bindings: Bindings): void {
    const { label, state } = lane;
    this.el.dataset.state = state;
    this.el.setAttribute('aria-label', `lane ${label}`);
    setColor(this.swatch, lane.color);
    setText(this.title, label);
    this.title.title = label;
    const { text, tone } = laneChip(lane);
    this.chip.className = `mosaic-chip mosaic-${tone}`;
    setTextOrHide(this.chip, text);
    drawOperators(this.operators, lane);
    this.people.draw(lane, closed, bindings[lane.index] ?? {});
    this.el.classList.toggle('mosaic-awaited', this.people.awaited);
    this.tile.stage.hidden = this.tile.el.hidden = lane.run === '' || lane.blank !== '';
    drawFacts(this.facts, laneFacts(lane));
    drawFacts(this.totals, lane.totals);
    this.totals.hidden = lane.totals.length === 0;
    drawMoves(this.moves, lane);
    this.drawModel(lane, closed);
    setTextOrHide(this.faults, laneFaults(lane));
    setTextOrHide(this.failure, state === 'failed' ? lane.reason : '');
    this.drawLog(state === 'failed' ? lane.log : '');
    this.drawFoot(lane, closed);
  }

  /** A failed call has answered nothing. */
  refuse(): void {
    this.people.refuse();
  }

  /** Show the messages of its operators and the exchanges of its language model. */
  private drawModel(lane: Lane, closed: boolean): void {
    const { open, folded } = reasoningText(lane, closed);
    setText(this.reasoning, open);
    this.reasoning.classList.toggle('mosaic-speaks', lane.speaks && open !== '');
    this.drawReasons(folded);
    this.exchange.el.hidden = !lane.speaks;
    this.exchange.setWaiting(lane.thinking !== '');
  }

  private drawFoot({ label, state, thinking }: Lane, closed: boolean): void {
    setText(this.thinking, thinking);
    this.thinking.title = thinking;
    this.step.title = `One step of ${label} alone`;
    this.step.setAttribute('aria-label', this.step.title);
    this.step.disabled = closed || !isLive({ state }) || state === 'finished';
    this.step.hidden = state === 'failed';
    this.restart.title = `Restart ${label}; it continues to the step of the other lanes`;
    this.restart.setAttribute('aria-label', `Restart ${label}`);
    this.restart.hidden = state !== 'failed';
    this.restart.disabled = closed;
  }
}
