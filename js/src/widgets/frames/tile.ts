/** One run's tile: its title, canvas, HUD, notice and buttons. */

import { integerText, number } from '../../shared/numbers.ts';
import {
  addIcon,
  button,
  closeOnOutsideClick,
  element,
  segmented,
  setTextOrHide
} from '../common/elements.ts';
import type { FrameHeader, Hud, HudNumber, Notice, TileRequest } from '../messages.ts';
import { fitted, type Settings } from './settings.ts';

const WAITING = 'Waiting for the first frame…';
const SETTLE_MS = 2000; // after the first frame: by then the kernel has withdrawn earlier notices
const RATE_HINT =
  'Frames per second on this page. A training spends at most 4% of its time on drawing, so it may draw fewer.';
export const OFF = 'frames are off'; // how the kernel's notice begins while the run publishes none
const EDGE = 1; // border pixels around a picture
const HUD_WIDTH = 360; // minimum width of the HUD below a narrower picture

const RECORD_SECONDS = [5, 10, 30, 60];
const FORMATS = ['gif', 'mp4'] as const;
const SWITCHES = [
  { value: true, text: 'On', hint: 'Publish frames while someone is watching' },
  { value: false, text: 'Off', hint: 'Publish no frames, even while someone is watching' }
];

/** The numbers of a frame's record with their labels and formats. */
const NUMBERS = [
  ['episode', 'episode', integerText],
  ['step', 'step', integerText],
  ['reward', 'reward', number],
  ['episode_return', 'return', number],
  ['steps_per_second', 'steps/s now', number]
] as const;

export interface TileOptions {
  label: string;
  /** The view's settings, read on every drawing. */
  settings: Settings;
  request: (message: TileRequest) => void;
  /** The parent of the buttons; without it, a tile has its own head. */
  bar?: HTMLElement;
}

export class Tile {
  readonly el: HTMLElement;
  readonly stage: HTMLElement;
  readonly picture: HTMLElement;
  protected readonly notice: HTMLElement;
  private readonly settings: Settings;
  private readonly label: string;
  private readonly rate: HTMLElement;
  private readonly actions: TileActions;
  private readonly blank: HTMLElement;
  private readonly screen: HTMLElement;
  private readonly hud: HTMLElement;
  private readonly drawHud: (hud: Hud) => void;
  private readonly observer: ResizeObserver;
  private readonly refit = () => this.fit();
  private canvas: HTMLElement | null = null;
  private size: { width: number; height: number } | null = null;
  private latest: Notice = { level: 'info', text: '' };
  private newest: Hud = {};
  private drawn = 0;
  private counted = 0;

  constructor(parent: Node | null, { label, settings, request, bar }: TileOptions) {
    this.settings = settings;
    this.label = label;
    this.el = element('section', 'mosaic-tile', parent);
    this.el.setAttribute('aria-label', label);
    const head = bar ?? element('div', 'mosaic-tile-head', this.el);
    if (!bar) element('span', 'mosaic-title', head, label).title = label;
    this.rate = element('span', 'mosaic-tile-rate', head);
    this.rate.title = RATE_HINT;
    this.actions = tileActions(head, request);
    this.stage = element('div', 'mosaic-stage', this.el);
    this.blank = element('div', 'mosaic-blank', this.stage, WAITING);
    this.screen = element('div', 'mosaic-screen', this.stage);
    this.screen.hidden = true;
    this.picture = element('div', 'mosaic-picture', this.screen);
    this.hud = element('div', 'mosaic-hud', this.screen);
    this.drawHud = hudIn(this.hud);
    this.notice = element('div', 'mosaic-notice', this.el);
    this.notice.hidden = true;
    this.observer = new ResizeObserver(this.refit);
    this.observer.observe(this.stage);
    window.addEventListener('resize', this.refit);
  }

  /** Use this canvas for frames. */
  setCanvas(canvas: HTMLElement): void {
    this.canvas = canvas;
    canvas.setAttribute('aria-label', this.label);
    this.picture.prepend(canvas);
  }

  /** Called after a frame was drawn. */
  show({ width, height, hud }: FrameHeader): void {
    if (!this.drawn++) setTimeout(() => this.say(this.latest), SETTLE_MS);
    this.blank.hidden = true;
    this.screen.hidden = false;
    this.newest = hud;
    if (this.size?.width === width && this.size.height === height) return;
    this.size = { width, height };
    this.fit();
  }

  /** Show a notice in place of a missing frame, otherwise below the frame. */
  say(notice: Notice): void {
    const { level, text } = notice;
    this.latest = notice;
    this.actions.press(text.startsWith(OFF) ? false : text ? null : true);
    this.blank.textContent = text || WAITING;
    this.notice.hidden = text === '' || !this.drawn;
    this.notice.textContent = text;
    this.notice.className = `mosaic-notice mosaic-${level}`;
  }

  /** Show the number of frames drawn since the last call, a second ago. */
  count(): void {
    const rate = this.drawn - this.counted;
    this.counted = this.drawn;
    this.rate.textContent = this.settings.paused ? 'paused' : rate ? `${rate} fps` : '';
  }

  fit(): void {
    this.hud.hidden = !this.settings.hud;
    this.showHud();
    if (!this.size || !this.canvas) return;
    const { width, height } = this.size;
    const available = {
      width: Math.max(0, Math.floor(this.stage.getBoundingClientRect().width) - 2 * EDGE),
      windowHeight: window.innerHeight,
      density: window.devicePixelRatio || 1
    };
    const { factor, sharp } = fitted(this.size, available, this.settings);
    this.canvas.style.width = `${width * factor}px`;
    this.canvas.style.height = `${height * factor}px`;
    this.canvas.classList.toggle('mosaic-exact', sharp);
    this.hud.style.width = `max(${width * factor}px, min(100%, ${HUD_WIDTH}px))`;
  }

  /** Show the record of the frame drawn last. */
  showHud(): void {
    if (this.settings.hud) this.drawHud(this.newest);
  }

  close(): void {
    window.removeEventListener('resize', this.refit);
    this.observer.disconnect();
    this.actions.close();
  }
}

interface TileActions {
  /** The pressed one of the run's buttons; null if unknown. */
  press(on: boolean | null): void;
  close(): void;
}

function tileActions(parent: Node, request: (message: TileRequest) => void): TileActions {
  const tools = element('span', 'mosaic-tile-tools', parent);
  const snapshot = () => request({ type: 'snapshot' });
  addIcon(button(tools, '', 'Save this frame as PNG', snapshot, 'mosaic-button mosaic-icon'), 'camera');
  const menu = element('details', 'mosaic-menu', tools);
  const summary = element('summary', 'mosaic-button mosaic-icon', menu);
  summary.title = 'Save the last seconds, turn frames on and off';
  addIcon(summary, 'record');
  const list = element('div', 'mosaic-menu-list', menu);
  const row = (label: string) => {
    const line = element('div', 'mosaic-tile-row', list);
    element('span', '', line, label);
    return line;
  };
  const choose = (message: TileRequest) => {
    menu.open = false;
    request(message);
  };

  let seconds = 5;
  const lengths = RECORD_SECONDS.map(value => ({ value, text: `${value} s`, hint: `${value} seconds` }));
  const pressLength = segmented(row('The last'), 'seconds to save', lengths, value => {
    seconds = value;
    pressLength(seconds);
  });
  pressLength(seconds);
  const formats = FORMATS.map(value => {
    const text = value.toUpperCase();
    return { value, text, hint: `Save the last seconds as ${text}` };
  });
  segmented(row('Save as'), 'format', formats, format => choose({ type: 'record', seconds, format }));
  const press = segmented(row("The run's frames"), 'frames of the run', SWITCHES, on => {
    choose({ type: 'enable', on });
  });
  return { press, close: closeOnOutsideClick(menu) };
}

/** Returns a function that shows a record in `box`. */
function hudIn(box: Node): (hud: Hud) => void {
  const agent = element('b', 'mosaic-hud-agent', box);
  const numbers = NUMBERS.map(([name, label, format]) => {
    const item = element('span', '', box);
    element('i', '', item, label);
    return { name, format, item, value: element('b', '', item) };
  });
  const text = element('span', 'mosaic-hud-text', box);
  return hud => {
    setTextOrHide(agent, hud.agent ?? '');
    for (const { name, format, item, value } of numbers)
      setTextOrHide(value, numberText(hud[name], format), item);
    setTextOrHide(text, hud.text ?? '');
  };
}

/** The kernel sends non-finite numbers as text, which is shown unchanged. */
function numberText(value: HudNumber | undefined, format: (value: number) => string): string {
  return typeof value === 'number' ? format(value) : (value ?? '');
}
