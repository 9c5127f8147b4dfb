/** A wall of frames: a tool bar and a tile per run. */

import '../panel/panel.css';
import './frames.css';
import {
  addIcon,
  button,
  element,
  option,
  segmented,
  select,
  setPressed,
  setTextOrHide
} from '../common/elements.ts';
import { showPageNotice } from '../common/page-notice.ts';
import type { Model, RenderContext } from '../host/anywidget.ts';
import type { FrameWallTraits } from '../messages.ts';
import { Frames } from './frames.ts';
import { SCALES, type Settings, SIZES } from './settings.ts';
import { Tile } from './tile.ts';

const RATES = [1, 5, 10, 15, 30, 60];
const RATE_LABEL = 'Maximum frames per second';
const SAID_MS = 12_000;

class Wall {
  readonly frames: Frames;
  private readonly settings: Settings;
  private readonly bar: ToolBar;
  private readonly trouble: HTMLElement;
  private readonly el: HTMLElement;
  private readonly tiles: Tile[];

  constructor(model: Model<FrameWallTraits>, parent: HTMLElement) {
    const title = model.get('title');
    const runs = model.get('tiles');
    const settings: Settings = {
      fps: model.get('fps'),
      paused: false,
      hud: true,
      scale: 'auto',
      size: 'medium'
    };
    this.settings = settings;
    this.bar = toolBar(parent, title, settings, (name, value) => this.change(name, value));
    this.trouble = element('div', 'mosaic-notice mosaic-warning', parent);
    this.trouble.hidden = true;
    this.el = element('div', 'mosaic-wall', parent);
    const columns = model.get('columns');
    if (columns) this.el.style.setProperty('--mosaic-columns', String(columns));
    const alone = runs.length === 1 ? { label: title, bar: this.bar.el } : {};
    this.tiles = runs.map(({ label }, tile) => {
      return new Tile(this.el, {
        label,
        settings,
        request: message => this.frames.request(tile, message),
        ...alone
      });
    });
    this.frames = new Frames(model, parent, {
      tiles: this.tiles,
      settings,
      runs: () => runs.map(({ run }) => run),
      say: this.bar.say,
      trouble: text => this.showTrouble(text)
    });
  }

  showTrouble(text: string): void {
    setTextOrHide(this.trouble, text);
    this.el.classList.toggle('mosaic-stale', text !== '');
  }

  private change<Name extends keyof Settings>(name: Name, value: Settings[Name]): void {
    this.settings[name] = value;
    this.bar.draw();
    if (name === 'fps' || name === 'paused') this.frames.look();
    else for (const tile of this.tiles) tile.fit();
    this.el.dataset.size = this.settings.size;
  }
}

interface ToolBar {
  el: HTMLElement;
  /** Show the current settings. */
  draw(): void;
  /** Show a message for a while. */
  say(text: string, error?: boolean): void;
}

function toolBar(
  parent: Node,
  title: string,
  settings: Settings,
  change: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void
): ToolBar {
  const el = element('div', 'mosaic-bar', parent);
  element('span', 'mosaic-title', el, title).title = title;
  const message = element('span', 'mosaic-message', el);
  message.setAttribute('role', 'status');
  const pause = button(el, '', '', () => change('paused', !settings.paused), 'mosaic-button mosaic-icon');
  const rate = element('label', 'mosaic-rate', el);
  rate.title = RATE_LABEL;
  const rates = select(rate, RATE_LABEL, value => change('fps', Number(value)));
  for (const value of [...new Set([...RATES, settings.fps])].sort((a, b) => a - b)) {
    option(rates, String(value), `${value} fps`);
  }
  rates.value = String(settings.fps);
  const pressScale = segmented(el, 'scale', SCALES, scale => change('scale', scale));
  const pressSize = segmented(el, 'size', SIZES, size => change('size', size));
  const toggleHud = () => change('hud', !settings.hud);
  const hud = button(el, 'HUD', 'Numbers below the frame', toggleHud, 'mosaic-button mosaic-toggle');

  const draw = () => {
    pause.replaceChildren();
    addIcon(pause, settings.paused ? 'play' : 'pause');
    pause.title = settings.paused ? 'Play' : 'Pause';
    pause.setAttribute('aria-label', pause.title);
    pressScale(settings.scale);
    pressSize(settings.size);
    setPressed(hud, settings.hud);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (text: string, error = false) => {
    clearTimeout(timer);
    message.textContent = message.title = text;
    message.classList.toggle('mosaic-error', error);
    timer = text === '' ? undefined : setTimeout(() => say(''), SAID_MS);
  };
  draw();
  return { el, draw, say };
}

function render({ model, el }: RenderContext<FrameWallTraits>): () => void {
  el.classList.add('mosaic-panel', 'mosaic-frames');
  const wall = new Wall(model, el);
  showPageNotice(el);
  wall.frames.start().catch((reason: Error) => {
    wall.showTrouble(`Frames cannot be shown here: ${reason.message}`);
  });
  return () => wall.frames.end();
}

export default { render };
