/**
 * One run's tile: its title, its canvas at the chosen scale and size, the HUD below it, its notice and its
 * buttons.
 */

import { element } from '../common/elements.ts';
import type { FrameHeader, Hud, Notice, TileRequest } from '../messages.ts';
import { hudIn } from './hud.ts';
import { fitted, type Settings } from './settings.ts';
import { type TileActions, tileActions } from './tile-actions.ts';

const WAITING = 'Waiting for the first frame…';
const SETTLE_MS = 2000; // after the first frame: by then the kernel has withdrawn earlier notices
const RATE_HINT =
  'Frames per second on this page. A training spends at most 4% of its time on drawing, so it may draw fewer.';
export const OFF = 'frames are off'; // how the kernel's notice begins while the run publishes none
const EDGE = 1; // border pixels around a picture
const HUD_WIDTH = 360; // minimum width of the HUD below a narrower picture

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
    this.drawHud(hud);
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
    if (!this.size || !this.canvas) return;
    const { width, height } = this.size;
    const room = {
      width: Math.max(0, Math.floor(this.stage.getBoundingClientRect().width) - 2 * EDGE),
      windowHeight: window.innerHeight,
      density: window.devicePixelRatio || 1
    };
    const { factor, sharp } = fitted(this.size, room, this.settings);
    this.canvas.style.width = `${width * factor}px`;
    this.canvas.style.height = `${height * factor}px`;
    this.canvas.classList.toggle('mosaic-exact', sharp);
    this.hud.style.width = `max(${width * factor}px, min(100%, ${HUD_WIDTH}px))`;
  }

  close(): void {
    window.removeEventListener('resize', this.refit);
    this.observer.disconnect();
    this.actions.close();
  }
}
