/**
 * A comparison: a tool bar, and a card per lane. The trait `state` has the content. The user's requests are
 * sent in `calls`, the last few of all views, so that none is lost if several are made at once.
 */

import '../panel/panel.css';
import '../frames/frames.css';
import './comparison.css';
import './exchange.css';
import { element, setTextOrHide } from '../common/elements.ts';
import { SILENT_KERNEL, type Trouble, watchKernel } from '../common/kernel-watch.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { reportVisibility } from '../common/visibility.ts';
import { Frames } from '../frames/frames.ts';
import type { Settings, Size } from '../frames/settings.ts';
import { type Model, onChange, type RenderContext, send, viewName } from '../host/anywidget.ts';
import type { ComparisonTraits, KeyBinding, Lane } from '../messages.ts';
import { Bar } from './bar.ts';
import { Card } from './card.ts';

const MOST_CALLS = 24;
const TROUBLE: Record<Trouble, string> = {
  '': '',
  silent: SILENT_KERNEL,
  ended:
    'The kernel was restarted or shut down, and its comparisons ended with it. Run this cell again to start a new one.'
};
/** A click on these does not move the focus to the keys. */
const NOT_PLAYING = '.mosaic-stop, .mosaic-tile-tools, .mosaic-pad-typed';

class Comparison {
  readonly frames: Frames;
  private readonly model: Model<ComparisonTraits>;
  private readonly view = viewName();
  private readonly bar: Bar;
  private readonly notice: HTMLElement;
  private readonly grid: HTMLElement;
  private readonly settings: Settings = { fps: 30, paused: false, hud: false, scale: 'auto', size: 'medium' };
  private readonly cards: Card[];
  private calls = 0;
  private shownRuns: string;
  private playedLast: Card | null = null;
  private kernelTrouble: Trouble = '';
  private frameTrouble = '';

  constructor(model: Model<ComparisonTraits>, el: HTMLElement) {
    this.model = model;
    this.bar = new Bar(
      el,
      model,
      (name, args) => this.call(name, args),
      size => this.resize(size)
    );
    this.notice = element('div', 'mosaic-notice mosaic-warning', el);
    this.notice.hidden = true;
    this.grid = element('div', 'mosaic-lane-grid', el);
    this.cards = model.get('state').lanes.map(lane => this.card(lane));
    this.frames = new Frames(model, el, {
      tiles: this.cards.map(card => card.tile),
      settings: this.settings,
      runs: () => this.runs(),
      say: (text, error) => this.bar.say(text, error),
      trouble: text => this.showFrameTrouble(text)
    });
    this.cards.forEach(({ exchange }, i) => {
      exchange.connect(model.widget_manager, model.get('language')[i] ?? '').catch(reason => {
        console.warn('MOSAIC: exchanges of a lane cannot be shown:', reason);
      });
    });
    this.shownRuns = this.runs().join('\n');
    this.grid.addEventListener('focusin', ({ target }) => {
      this.playedLast = this.cards.find(({ tile }) => tile.stage === target) ?? this.playedLast;
    });
    el.addEventListener('click', event => this.focusKeys(event));
  }

  draw(): void {
    const state = this.model.get('state');
    const bindings = this.model.get('bindings');
    this.bar.draw(state);
    state.lanes.forEach((lane, i) => {
      this.cards[i]?.draw(lane, state.mode === 'closed', bindings);
    });
    const runs = this.runs().join('\n');
    if (runs !== this.shownRuns) {
      this.shownRuns = runs;
      this.frames.reopen();
    }
  }

  /** Show a message of the kernel; a failed call has answered nothing. */
  say(): void {
    const { level, text } = this.model.get('said');
    this.bar.say(text, level === 'error');
    for (const card of this.cards) card.refuse();
    this.draw();
  }

  showFrameTrouble(text: string): void {
    this.frameTrouble = text;
    this.drawTrouble();
  }

  showKernelTrouble(trouble: Trouble): void {
    this.kernelTrouble = trouble;
    this.bar.el.inert = this.grid.inert = trouble !== '';
    this.drawTrouble();
  }

  end(): void {
    this.frames.end();
    for (const { exchange } of this.cards) exchange.end();
  }

  private card({ index }: Lane): Card {
    return new Card(this.grid, this.settings, {
      call: name => this.call(name, { lane: index }),
      request: message => this.frames.request(index, message),
      press: (agent, action) => this.call('press', { lane: index, agent, action }),
      bind: (agent, keys) => this.bind(index, agent, keys)
    });
  }

  private call(name: string, args: object = {}): void {
    const call = [this.view, ++this.calls, name, args] as ComparisonTraits['calls'][number];
    send(this.model, 'calls', [...this.model.get('calls'), call].slice(-MOST_CALLS));
  }

  private bind(lane: number, agent: string, keys: KeyBinding[] | null): void {
    const all = this.model.get('bindings');
    send(this.model, 'bindings', { ...all, [lane]: { ...all[lane], [agent]: keys } });
    this.draw();
  }

  private resize(size: Size): void {
    this.grid.dataset.size = this.settings.size = size;
    for (const { tile } of this.cards) tile.fit();
    this.bar.drawSize(size);
  }

  /** A lane that never had a folder has no picture: any other folder is used in its place. */
  private runs(): string[] {
    const runs = this.model.get('state').lanes.map(({ run }) => run);
    return runs.map(run => run || runs.find(Boolean) || '/');
  }

  /**
   * After a click, for example on Run, give the keyboard to the player without another click on the picture.
   * A button pressed with a key keeps the focus.
   */
  private focusKeys({ target, detail }: MouseEvent): void {
    if (detail === 0 || !(target instanceof Element)) return;
    if (!target.closest('button') || target.closest(NOT_PLAYING)) return;
    const played = this.cards.filter(({ people }) => people.present);
    const card = played.find(({ el }) => el.contains(target)) ?? this.playedLast ?? played[0];
    card?.people.focus();
  }

  /** Problems with the kernel take precedence over those with the frames, which they cause. */
  private drawTrouble(): void {
    const text = TROUBLE[this.kernelTrouble] || this.frameTrouble;
    setTextOrHide(this.notice, text);
    for (const node of [this.bar.el, this.grid]) node.classList.toggle('mosaic-stale', text !== '');
  }
}

function render({ model, el }: RenderContext<ComparisonTraits>): () => void {
  el.classList.add('mosaic-lanes');
  const comparison = new Comparison(model, el);
  showPageNotice(el);
  onChange(model, ['state', 'bindings'], () => comparison.draw());
  onChange(model, ['said'], () => comparison.say());
  comparison.draw();
  comparison.frames.start().catch((reason: Error) => {
    comparison.showFrameTrouble(`Frames cannot be shown here: ${reason.message}`);
  });
  const visibility = reportVisibility(model, el);
  const live = () => model.get('state').mode !== 'closed';
  const unwatch = watchKernel(model, el, { visible: visibility.visible, live }, trouble => {
    comparison.showKernelTrouble(trouble);
  });
  return () => {
    unwatch();
    visibility.end();
    comparison.end();
  };
}

export default { render };
