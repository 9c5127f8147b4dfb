/** A wall of frames: a tool bar and a tile per run. */

import '../panel/panel.css';
import './frames.css';
import { element, setTextOrHide } from '../common/elements.ts';
import { showPageNotice } from '../common/page-notice.ts';
import type { Model, RenderContext } from '../host/anywidget.ts';
import type { FrameWallTraits } from '../messages.ts';
import { Frames } from './frames.ts';
import type { Settings } from './settings.ts';
import { Tile } from './tile.ts';
import { type ToolBar, toolBar } from './tool-bar.ts';

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
