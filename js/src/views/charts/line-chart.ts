/**
 * A chart of many lines, each with its own x values. uPlot draws the axes and follows the pointer;
 * `LinePainter` draws the lines on its canvas. `CursorOverlay` draws the cursor on a layer above, so that
 * moving it redraws no line.
 */

import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import type { Axis } from '../../shared/run-api.ts';
import { chartAxes } from './chart-axes.ts';
import { CursorOverlay, MAX_DOTS, REACH } from './cursor-overlay.ts';
import { LinePainter, type Scale } from './line-painter.ts';
import type { ChartLine } from './lines.ts';
import { type Mark, paintMarks, withMarks } from './marks.ts';
import { EMPTY, type Near, type Readout, readout } from './nearest.ts';
import { type Limits, limited, type Range, steady, xRange, yRange } from './ranges.ts';

/** Room for the right half of the last tick's label, in CSS pixels. */
const LABEL_ROOM = 26;

export interface ChartView {
  readonly axis: Axis;
  readonly xTitle: string;
  readonly xLog: boolean;
  readonly yLog: boolean;
  /** The visible part of the x axis; null: the limit of the data. */
  readonly xLimits: Limits;
  readonly yLimits: Limits;
}

/** The position of the cursor, set by the pointer or by keys. */
export interface Cursor {
  readonly x: number;
  readonly readout: Readout;
  /** The position within the chart's element, in CSS pixels; null for a cursor moved by keys. */
  readonly pointer: { left: number; top: number } | null;
}

interface ChartEvents {
  /** The cursor of this chart has moved; null: it has left. */
  cursor(cursor: Cursor | null): void;
  zoom(range: Range | null): void;
  /** A point was clicked, or chosen with Enter. */
  pick(point: Near): void;
}

export class LineChart {
  private readonly el: HTMLElement;
  private readonly events: ChartEvents;
  private readonly painter = new LinePainter();
  private readonly overlay: CursorOverlay;
  private readonly theme: MutationObserver;
  private readonly sizes: ResizeObserver;
  private plot: uPlot | null = null;
  private lines: readonly ChartLine[] = [];
  private marks: readonly Mark[] = [];
  private view: ChartView = {
    axis: 'step',
    xTitle: '',
    xLog: false,
    yLog: false,
    xLimits: [null, null],
    yLimits: [null, null]
  };
  private x: Range = [0, 1];
  private y: Range = [0, 1];
  /** The ranges of the data last drawn; null after the view has changed. */
  private drawn: { x: Range; y: Range } | null = null;
  /** The cursor of a linked chart. */
  private linked: number | null = null;
  private ownCursor: Cursor | null = null;
  /** The last position of the pointer, in CSS pixels. */
  private pointer = { left: -1, top: -1 };
  private emphasized: string | null = null;
  private chosen: string | null = null;
  private readonly drawNow = () => this.draw();

  constructor(el: HTMLElement, events: ChartEvents) {
    this.el = el;
    this.events = events;
    this.overlay = new CursorOverlay(el, this.painter);
    this.theme = new MutationObserver(() => this.rebuild());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-name', 'class'] });
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(el);
  }

  /** Show other lines or another part of them, in one of the next frames. */
  show(lines: readonly ChartLine[], marks: readonly Mark[], view: ChartView): void {
    const { axis, xTitle, xLog, yLog } = this.view;
    const axes = view.axis !== axis || view.xTitle !== xTitle || view.xLog !== xLog || view.yLog !== yLog;
    if (view !== this.view) this.drawn = null;
    this.lines = lines;
    this.marks = marks;
    this.view = view;
    if (axes) this.destroyPlot();
    drawSoon(this.drawNow);
  }

  /** Show the cursor of another chart. */
  link(x: number | null): void {
    if (this.ownCursor || x === this.linked) return;
    this.linked = x;
    this.paintOverlay();
  }

  /** Draw one run's line above the others. */
  emphasize(key: string | null): void {
    if (key === this.emphasized) return;
    this.emphasized = key;
    this.paintOverlay();
  }

  /** Move the cursor along the chosen line, or to the next line by value; return whether there is a target. */
  moveByKey(key: string): boolean {
    const { plot } = this;
    if (!plot || this.lines.length === 0) return false;
    if (key === 'Escape') {
      this.setCursor(null);
      return true;
    }
    if (key === 'Enter') return this.pick();
    const [start, end] = this.x;
    let x = this.ownCursor?.x ?? (start + end) / 2;
    let line = this.ownCursor?.readout.nearest ?? null;
    const pixel = (end - start) / Math.max(1, plot.over.clientWidth);
    if (key === 'Home') x = start;
    else if (key === 'End') x = end;
    else if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const step = key === 'ArrowLeft' ? -4 * pixel : 4 * pixel;
      if (this.ownCursor) x = Math.max(start, Math.min(end, x + step));
    } else if (key === 'ArrowUp' || key === 'ArrowDown') {
      const { points, nearest } = this.ownCursor?.readout ?? EMPTY;
      const index = (nearest ? points.indexOf(nearest) : -1) + (key === 'ArrowUp' ? -1 : 1);
      line = points[Math.max(0, Math.min(points.length - 1, index))] ?? line;
    } else return false;
    this.chosen = line?.line.data.key ?? null;
    const nearby = readout(this.lines, x, REACH * pixel, () => 0, MAX_DOTS, this.chosen);
    this.setCursor({ x, readout: nearby, pointer: null });
    return true;
  }

  leave(): void {
    this.setCursor(null);
  }

  private pick(): boolean {
    const nearest = this.ownCursor?.readout.nearest;
    if (nearest) this.events.pick(nearest);
    return Boolean(nearest);
  }

  destroy(): void {
    drawNever(this.drawNow);
    this.theme.disconnect();
    this.sizes.disconnect();
    this.destroyPlot();
  }

  private resized(): void {
    const { clientWidth, clientHeight } = this.el;
    if (this.plot && (this.plot.width !== clientWidth || this.plot.height !== clientHeight)) {
      drawSoon(this.drawNow);
    } else if (!this.plot) drawSoon(this.drawNow);
  }

  private rebuild(): void {
    this.destroyPlot();
    drawSoon(this.drawNow);
  }

  private destroyPlot(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.el;
    if (width < 40 || height < 40) return;
    const { view } = this;
    const range = withMarks(
      xRange(this.lines, view.xLog) ?? (view.xLog ? [1, 10] : [0, 1]),
      this.marks,
      view.xLog
    );
    const all = steady(range, this.drawn?.x ?? null, view.xLog);
    this.x = limited(all, view.xLimits, view.xLog);
    const inView = yRange(this.lines, this.x, view.yLog) ?? (view.yLog ? [1, 10] : [0, 1]);
    const values = steady(inView, this.drawn?.y ?? null, view.yLog);
    this.drawn = { x: all, y: values };
    this.y = limited(values, view.yLimits, view.yLog);
    if (!this.plot) {
      this.plot = this.newPlot(width, height);
      return;
    }
    if (this.plot.width !== width || this.plot.height !== height) this.plot.setSize({ width, height });
    // Both scales depend on this chart's own ranges: setting data evaluates them again.
    this.plot.setData(this.corners());
  }

  private corners(): uPlot.AlignedData {
    return [
      [this.x[0], this.x[1]],
      [this.y[0], this.y[1]]
    ];
  }

  private newPlot(width: number, height: number): uPlot {
    const { xLog, yLog, axis } = this.view;
    return new uPlot(
      {
        width,
        height,
        padding: [8, LABEL_ROOM, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: axis === 'time', distr: xLog ? 3 : 1, range: () => [...this.x] as uPlot.Range.MinMax },
          y: { distr: yLog ? 3 : 1, range: () => [...this.y] as uPlot.Range.MinMax }
        },
        axes: chartAxes(this.el, this.view),
        series: [{}, { paths: () => null, points: { show: false } }],
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: 5 },
          bind: {
            dblclick: () => () => {
              this.events.zoom(null);
              return null;
            }
          }
        },
        hooks: {
          ready: [plot => this.attached(plot)],
          draw: [plot => this.paint(plot)],
          setSelect: [plot => this.selected(plot)],
          setCursor: [plot => this.moved(plot)]
        }
      },
      this.corners(),
      this.el
    );
  }

  private attached(plot: uPlot): void {
    this.overlay.attach(plot);
    plot.over.addEventListener('click', ({ offsetX, offsetY }) => {
      plot.setCursor({ left: offsetX, top: offsetY }); // the pointer's last move may still be pending
      this.pick();
    });
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const range: Range = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.events.zoom(range);
  }

  private moved(plot: uPlot): void {
    const { left = -1, top = -1 } = plot.cursor;
    if (left < 0 || top < 0) {
      if (this.ownCursor?.pointer) this.setCursor(null);
      return;
    }
    const rests = left === this.pointer.left && top === this.pointer.top;
    this.pointer = { left, top };
    if (rests && this.ownCursor && !this.ownCursor.pointer) return; // new data, not the pointer, while keys move the cursor
    this.chosen = null;
    const x = plot.posToVal(left, 'x');
    const reach = Math.abs(plot.posToVal(left + REACH, 'x') - x);
    const distance = (value: number) => Math.abs(plot.valToPos(value, 'y') - top);
    const nearby = readout(this.lines, x, reach, distance, MAX_DOTS);
    const pointer = { left: left + plot.over.offsetLeft, top: top + plot.over.offsetTop };
    this.setCursor({ x, readout: nearby, pointer });
  }

  private setCursor(cursor: Cursor | null): void {
    if (!cursor && !this.ownCursor) return;
    this.ownCursor = cursor;
    this.linked = null;
    this.paintOverlay();
    this.events.cursor(cursor);
  }

  private scales(plot: uPlot): [Scale, Scale] {
    const { left, top, width, height } = plot.bbox;
    const { xLog, yLog } = this.view;
    return [
      { min: this.x[0], max: this.x[1], log: xLog, from: left, to: left + width },
      { min: this.y[0], max: this.y[1], log: yLog, from: top + height, to: top }
    ];
  }

  private paint(plot: uPlot): void {
    const { ctx: context, bbox } = plot;
    const [x, y] = this.scales(plot);
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    this.painter.paint(context, this.lines, x, y, uPlot.pxRatio);
    const text = getComputedStyle(this.el).getPropertyValue('--mosaic-chart-text');
    paintMarks(context, this.marks, x, y, text, uPlot.pxRatio);
    context.restore();
    this.paintOverlay();
  }

  private paintOverlay(): void {
    if (!this.plot) return;
    this.overlay.paint(this.plot, {
      lines: this.lines,
      scales: this.scales(this.plot),
      cursor: this.ownCursor,
      linked: this.linked,
      emphasized: this.emphasized
    });
  }
}

/** Charts that change at once are drawn over several frames, so that the page stays responsive. */
const BUDGET_MS = 12;

const waiting = new Set<() => void>();
let requested = false;

/** Call `draw` once, in one of the next frames. */
function drawSoon(draw: () => void): void {
  waiting.add(draw);
  if (!requested) {
    requested = true;
    requestAnimationFrame(frame);
  }
}

function drawNever(draw: () => void): void {
  waiting.delete(draw);
}

function frame(): void {
  const end = performance.now() + BUDGET_MS;
  for (const draw of waiting) {
    waiting.delete(draw);
    draw();
    if (performance.now() > end) break;
  }
  requested = waiting.size > 0;
  if (requested) requestAnimationFrame(frame);
}
