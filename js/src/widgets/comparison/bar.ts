/** The tool bar of a comparison. Every action is a method of the comparison in the kernel. */

import { addIcon, button, option, select, slider } from '../common/buttons.ts';
import { element, setText, setTextOrHide } from '../common/elements.ts';
import { type Size, sizeButtons } from '../frames/settings.ts';
import { type Model, onChange, send } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { ComparisonState, ComparisonTraits } from '../messages.ts';

const SAID_MS = 15_000;
const MOST_SEED = 2 ** 32 - 1;

/** A method of the comparison, with its arguments. */
export type CallComparison = (name: string, args?: object) => void;

/** The index of the value closest to `wanted`; 0 means no limit. */
export function nearest(values: readonly number[], wanted: number): number {
  if (!wanted) return values.indexOf(0);
  const distances = values.map(value => (value ? Math.abs(value - wanted) : Number.POSITIVE_INFINITY));
  return distances.indexOf(Math.min(...distances));
}

export class Bar {
  readonly el: HTMLElement;
  readonly drawSize: (size: Size) => void;
  private readonly model: Model<ComparisonTraits>;
  private readonly call: CallComparison;
  private readonly buttons: Record<'step' | 'run' | 'reset' | 'next' | 'stop', HTMLButtonElement>;
  private readonly speed: ReturnType<typeof slider>;
  private readonly seed: HTMLInputElement;
  private readonly seeds: HTMLSelectElement;
  private readonly message: HTMLElement;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: ComparisonState | null = null;

  constructor(
    parent: Node,
    model: Model<ComparisonTraits>,
    call: CallComparison,
    resize: (size: Size) => void
  ) {
    this.model = model;
    this.call = call;
    this.el = element('div', 'mosaic-bar mosaic-compare-bar', parent);
    element('span', 'mosaic-title', this.el, model.get('title')).title = model.get('title');
    const group = element('span', 'mosaic-bar-group', this.el);
    const step = button(group, 'Step all', 'One step of every lane', () => call('step'));
    const run = button(group, '', '', () => this.runOrPause());
    const reset = button(group, 'Reset', 'Restart the episode on the seed in the box', () => this.begin());
    const next = button(group, 'Next seed', 'Start an episode on the next seed of the list', () =>
      call('next_seed')
    );
    const range = { min: 0, max: model.get('speeds').length - 1, step: 1 };
    this.speed = slider(this.el, 'Speed', 'Steps per second', range, place => this.setSpeed(place));
    this.speed.input.setAttribute('aria-label', 'Steps per second');
    [this.seed, this.seeds] = this.seedFields();
    this.drawSize = sizeButtons(this.el, resize);
    const hint = 'End all lanes and their processes; results and last frames stay';
    const stop = button(this.el, 'End comparison', hint, () => call('stop'), 'mosaic-stop');
    this.buttons = { step, run, reset, next, stop };
    this.message = element('div', 'mosaic-notice', parent);
    this.message.setAttribute('role', 'status');
    this.message.hidden = true;
    onChange(model, ['speed'], () => this.drawSpeed());
    this.drawSpeed();
    this.drawSize('medium');
  }

  draw(state: ComparisonState): void {
    const { mode, can_step: canStep } = state;
    const { step, run, reset, next, stop } = this.buttons;
    const [closed, playing] = [mode === 'closed', mode === 'playing'];
    if (mode !== this.state?.mode) {
      run.replaceChildren(playing ? 'Pause' : 'Run');
      addIcon(run, playing ? 'pause' : 'play');
      run.title = playing ? 'Start no further step' : 'Step all lanes until every one has finished';
    }
    run.disabled = closed || !(playing || canStep);
    step.disabled = closed || !canStep;
    for (const node of [reset, next, this.seed, this.seeds, stop]) node.disabled = closed;
    setText(stop, closed ? 'Ended' : 'End comparison');
    this.drawSeeds(state);
    this.state = state;
  }

  /** Show a message of the kernel for a while. */
  say(text: string, error = false): void {
    clearTimeout(this.timer);
    this.message.className = `mosaic-notice mosaic-${error ? 'error' : 'info'}`;
    setTextOrHide(this.message, text);
    this.timer = setTimeout(() => {
      this.message.hidden = true;
    }, SAID_MS);
  }

  private runOrPause(): void {
    if (this.state?.mode === 'playing') this.call('pause');
    else this.call('play', { speed: this.model.get('speed') });
  }

  private setSpeed(place: number): void {
    send(this.model, 'speed', this.model.get('speeds')[place] ?? 0);
    if (this.state?.mode === 'playing') this.call('play', { speed: this.model.get('speed') });
  }

  private drawSpeed(): void {
    const speed = this.model.get('speed');
    const { input, output } = this.speed;
    input.value = String(nearest(this.model.get('speeds'), speed));
    output.textContent = speed ? `${speed}/s` : 'max';
    input.setAttribute('aria-valuetext', speed ? `${speed} steps per second` : 'as fast as possible');
  }

  private seedFields(): [HTMLInputElement, HTMLSelectElement] {
    const group = element('span', 'mosaic-bar-group', this.el);
    const box = element('input', 'mosaic-number', element('label', 'mosaic-smoothing', group, 'Seed'));
    Object.assign(box, { type: 'number', min: '0', max: String(MOST_SEED), step: '1' });
    box.title = 'Enter starts an episode on this seed';
    suppressShortcuts(box);
    box.onkeydown = event => {
      if (event.key === 'Enter') this.begin();
    };
    const list = select(group, 'Seeds of the list', value => {
      if (value !== '') this.call('reset', { seed: Number(value) });
    });
    list.title = 'Start an episode on a seed of the list';
    return [box, list];
  }

  private begin(): void {
    const { value } = this.seed;
    const valid = this.seed.checkValidity();
    const kept = `the lanes are still on seed ${this.state?.seed}`;
    this.say(valid ? '' : `A seed is an integer from 0 to ${MOST_SEED}; ${kept}.`, !valid);
    if (valid) this.call('reset', { seed: value === '' ? null : Number(value) });
  }

  private drawSeeds({ seed, seeds }: ComparisonState): void {
    if (seed !== this.state?.seed) this.seed.value = String(seed);
    if (seeds.join() !== this.state?.seeds.join()) {
      this.seeds.replaceChildren(...seeds.map(one => option(null, String(one), String(one))));
      this.seeds.prepend(option(null, '', 'seeds'));
    }
    this.seeds.value = seeds.includes(seed) ? String(seed) : '';
    this.seeds.hidden = seeds.length < 2;
  }
}
