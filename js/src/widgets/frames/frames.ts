/**
 * Frames of several runs in tiles: one connection for all. It reports visible tiles and requested rates to
 * the kernel, acknowledges drawn frames, and requests files.
 */

import { download } from '../../shared/download.ts';
import { type Visibility, watchVisibility } from '../common/visibility.ts';
import type { Model } from '../host/anywidget.ts';
import { Canvas } from '../host/ipywidgets.ts';
import type {
  FramesMessage,
  FromKernel,
  Hello,
  HudNumber,
  ModelReference,
  TileRequest,
  Wanted
} from '../messages.ts';
import { type Buffers, Connection } from './connection.ts';
import { Credit } from './credit.ts';
import { Screen } from './screen.ts';
import type { Settings } from './settings.ts';
import type { Tile } from './tile.ts';

const MAX_AGES = 1000;
const HUD_MS = 100; // between two updates of the numbers below frames, each of which lays out the page again
const SAVING = { snapshot: 'Saving the frame…', record: 'Saving the last seconds…', enable: '' };

/** The counters in `el.mosaicFrames`, for tests and measurements. */
interface Counters {
  /** Number of frames by tile. */
  drawn: number[];
  /** The step of the newest frame drawn, by tile; null if unknown. */
  steps: (HudNumber | null)[];
  /** Milliseconds from publishing to drawing, for the most recent 1,000. */
  ages: number[];
  /** Connections after the first. */
  reopened: number;
}

interface FramesOptions {
  tiles: Tile[];
  settings: Settings;
  /** The folder of each tile's run. */
  runs: () => string[];
  say: (text: string, error?: boolean) => void;
  /** Why no new frames arrive; "" if they do. */
  trouble: (text: string) => void;
}

export class Frames {
  private readonly model: Model<{ canvases: ModelReference[] }>;
  private readonly options: FramesOptions;
  private readonly counters: Counters;
  private readonly credit = new Credit();
  private screens: Screen[] = [];
  private visibility: Visibility | null = null;
  private connection: Connection | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;
  private painting = 0;
  private hudTimer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(model: Model<{ canvases: ModelReference[] }>, el: HTMLElement, options: FramesOptions) {
    this.model = model;
    this.options = options;
    const { tiles } = options;
    this.counters = { drawn: tiles.map(() => 0), steps: tiles.map(() => null), ages: [], reopened: 0 };
    Object.assign(el, { mosaicFrames: this.counters });
  }

  async start(): Promise<void> {
    const { tiles } = this.options;
    const manager = this.model.widget_manager;
    const references = this.model.get('canvases');
    const canvases = await Promise.all(references.map(reference => Canvas.open(manager, reference)));
    this.screens = canvases.map((canvas, i) => {
      tiles[i]?.setCanvas(canvas.el);
      return new Screen(canvas, this.soon, text => this.options.say(text, true));
    });
    if (this.ended) {
      this.end();
      return;
    }
    this.visibility = watchVisibility(() => this.look());
    for (const tile of tiles) this.visibility.observe(tile.el);
    this.connection = new Connection(manager, {
      hello: () => this.hello(),
      awake: () => this.wanted().visible.length > 0,
      receive: (message, buffers) => this.receive(message, buffers),
      trouble: this.options.trouble
    });
    this.timer = setInterval(() => {
      for (const tile of tiles) tile.count();
    }, 1000);
  }

  /** The tiles show other runs. */
  reopen(): void {
    this.connection?.renew();
  }

  /** The visibility or the requested rates have changed. */
  look(): void {
    this.connection?.send({ type: 'look', ...this.wanted() });
    this.connection?.tick();
  }

  request(tile: number, message: TileRequest): void {
    this.options.say(SAVING[message.type]);
    this.connection?.send({ ...message, tile });
  }

  end(): void {
    this.ended = true;
    clearInterval(this.timer);
    clearTimeout(this.hudTimer);
    this.visibility?.end();
    this.connection?.close();
    for (const part of [...this.screens, ...this.options.tiles]) part.close();
  }

  private wanted(): Wanted {
    const { fps, paused } = this.options.settings;
    return { visible: this.visibility?.visible() ?? [], fps, paused };
  }

  private hello(): Hello {
    this.credit.reset();
    this.counters.reopened = this.connection?.opened ?? 0;
    return { version: 1, tiles: this.options.runs().map(run => ({ run })), ...this.wanted() };
  }

  private receive(message: FromKernel, buffers: Buffers): void {
    const { say, tiles } = this.options;
    if (message.type === 'frames') this.take(message, buffers);
    else if (message.type === 'notices') {
      for (const notice of message.notices) tiles[notice.tile]?.say(notice);
    } else if (message.type === 'failed') say(message.text, true);
    else if (message.type === 'file') {
      say(`Saved ${message.name}`);
      if (buffers[0]) download(message.name, buffers[0], message.mime);
    }
  }

  private take({ id, ack, tiles }: FramesMessage, buffers: Buffers): void {
    this.credit.received(id, ack);
    tiles.forEach((frame, i) => {
      const buffer = buffers[i];
      if (!buffer) return;
      const bytes = ArrayBuffer.isView(buffer)
        ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
        : new Uint8Array(buffer);
      this.screens[frame.tile]?.offer({ ...frame, id, bytes });
    });
    this.soon();
  }

  private readonly soon = (): void => {
    this.painting ||= requestAnimationFrame(this.paint);
  };

  private readonly showHuds = (): void => {
    this.hudTimer = undefined;
    for (const tile of this.options.tiles) tile.showHud();
  };

  private readonly paint = (): void => {
    this.painting = 0;
    if (this.ended) return;
    const { drawn, steps, ages } = this.counters;
    let oldest = Number.POSITIVE_INFINITY;
    this.screens.forEach((screen, i) => {
      const packet = screen.paint();
      oldest = Math.min(oldest, screen.oldest());
      if (!packet) return;
      this.options.tiles[i]?.show(packet);
      drawn[i] = (drawn[i] ?? 0) + 1;
      steps[i] = packet.hud.step ?? null;
      ages.push(Date.now() - 1000 * packet.published);
      if (ages.length > MAX_AGES) ages.shift();
    });
    this.hudTimer ??= setTimeout(this.showHuds, HUD_MS);
    const done = this.credit.due(oldest);
    if (done !== null) this.connection?.send({ type: 'ack', id: done });
  };
}
