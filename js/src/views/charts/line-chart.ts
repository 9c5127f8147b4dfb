/**
 * A chart of many lines, each with an x of its own: uPlot draws the axes and follows the pointer, `LinePainter` draws the
 * lines on its canvas. What is under the pointer is drawn on a canvas above, so that moving it draws no line again.
 */

import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import type { Axis } from '../../shared/run-api.ts';
import { drawNever, drawSoon } from './frames.ts';
import { LinePainter, type Scale } from './line-painter.ts';
import type { ChartLine } from './lines.ts';
import { EMPTY, type Near, nearestPoint, type Readout, readout } from './nearest.ts';
import { durationText, logTickTexts, tickTexts } from './numbers.ts';
import { type Limits, limited, type Range, steady, xRange, yRange } from './ranges.ts';
import { logTicks } from './ticks.ts';

export interface ChartView {
  readonly axis: Axis;
  readonly xTitle: string;
  readonly xLog: boolean;
  readonly yLog: boolean;
  /** The part of the x axis in view; null: as far as there are data. */
  readonly xLimits: Limits;
  readonly yLimits: Limits;
}

/** Where the cursor is: by the pointer, or by keys. */
export interface Cursor {
  readonly x: number;
  readonly readout: Readout;
  /** The place within the chart's element, in CSS pixels; null for a cursor moved by keys. */
  readonly pointer: { left: number; top: number } | null;
}

export interface ChartEvents {
  /** The cursor of this chart has moved; null: it has left. */
  cursor(cursor: Cursor | null): void;
  zoom(range: Range | null): void;
  /** A point was clicked, or chosen with Enter. */
  pick(point: Near): void;
}

/** How far from the pointer, in pixels, a line may have its nearest point. */
const REACH = 16;
const MOST_DOTS = 12;
const FONT = '11px var(--jp-ui-font-family, system-ui, sans-serif)';
/** Distances of ticks on an axis of durations. */
const SECONDS = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map(minutes => 60 * minutes),
  ...[1, 2, 3, 6, 12].map(hours => 3600 * hours),
  ...[1, 2, 5, 10, 20, 50].map(days => 86_400 * days)
];
const VEIL = 0.55;
/** The least distance of ticks, in CSS pixels. */
const X_SPACE = 64;
const Y_SPACE = 32;
/** The height of the x axis' title, in CSS pixels. */
const TITLE_SIZE = 14;

export class LineChart {
  private readonly el: HTMLElement;
  private readonly events: ChartEvents;
  private readonly painter = new LinePainter();
  private readonly overlay = document.createElement('canvas');
  private readonly theme: MutationObserver;
  private readonly sizes: ResizeObserver;
  private plot: uPlot | null = null;
  private lines: readonly ChartLine[] = [];
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
  /** The ranges of the data as they were drawn last; null after the view has changed. */
  private drawn: { x: Range; y: Range } | null = null;
  /** The cursor of a linked chart. */
  private linked: number | null = null;
  private own: Cursor | null = null;
  private emphasized: string | null = null;
  private chosen: string | null = null;
  private readonly drawNow = () => this.draw();

  constructor(el: HTMLElement, events: ChartEvents) {
    this.el = el;
    this.events = events;
    this.overlay.className = 'mosaic-chart-overlay';
    this.theme = new MutationObserver(() => this.rebuild());
    this.theme.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-name', 'class'] });
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(el);
  }

  /** Show other lines or another part of them, at one of the next frames. */
  show(lines: readonly ChartLine[], view: ChartView): void {
    const scales =
      view.xLog !== this.view.xLog || view.yLog !== this.view.yLog || view.axis !== this.view.axis;
    if (view !== this.view) this.drawn = null;
    this.lines = lines;
    this.view = view;
    if (scales) this.destroyPlot();
    drawSoon(this.drawNow);
  }

  /** Show the cursor of another chart. */
  link(x: number | null): void {
    if (this.own || x === this.linked) return;
    this.linked = x;
    this.paintOverlay();
  }

  /** Draw one run's line above the others. */
  emphasize(key: string | null): void {
    if (key === this.emphasized) return;
    this.emphasized = key;
    this.paintOverlay();
  }

  /** Move the cursor by points of the chosen line, or to the next line by value. Returns whether there is one. */
  moveByKey(key: string): boolean {
    const { plot } = this;
    if (!plot || this.lines.length === 0) return false;
    if (key === 'Escape') {
      this.setCursor(null);
      return true;
    }
    if (key === 'Enter') return this.pick();
    const [start, end] = this.x;
    let x = this.own?.x ?? (start + end) / 2;
    let line = this.own?.readout.nearest ?? null;
    const pixel = (end - start) / Math.max(1, plot.over.clientWidth);
    if (key === 'Home') x = start;
    else if (key === 'End') x = end;
    else if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const step = key === 'ArrowLeft' ? -4 * pixel : 4 * pixel;
      if (this.own) x = Math.max(start, Math.min(end, x + step));
    } else if (key === 'ArrowUp' || key === 'ArrowDown') {
      const { points, nearest } = this.own?.readout ?? EMPTY;
      const place = (nearest ? points.indexOf(nearest) : -1) + (key === 'ArrowUp' ? -1 : 1);
      line = points[Math.max(0, Math.min(points.length - 1, place))] ?? line;
    } else return false;
    this.chosen = line?.line.data.key ?? null;
    const found = readout(this.lines, x, REACH * pixel, () => 0, MOST_DOTS, this.chosen);
    this.setCursor({ x, readout: found, pointer: null });
    return true;
  }

  leave(): void {
    this.setCursor(null);
  }

  private pick(): boolean {
    const nearest = this.own?.readout.nearest;
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
    const found = xRange(this.lines, view.xLog) ?? (view.xLog ? [1, 10] : [0, 1]);
    const all = steady(found, this.drawn?.x ?? null, view.xLog);
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
    // Both scales are functions of this chart's own ranges: setting data has them evaluated again.
    this.plot.setData(this.corners());
  }

  private corners(): uPlot.AlignedData {
    return [
      [this.x[0], this.x[1]],
      [this.y[0], this.y[1]]
    ];
  }

  private newPlot(width: number, height: number): uPlot {
    const style = getComputedStyle(this.el);
    const text = style.getPropertyValue('--mosaic-chart-text').trim() || '#444';
    const line = style.getPropertyValue('--mosaic-chart-grid').trim() || '#ddd';
    const font = FONT.replace(/var\(.*\)/, style.fontFamily || 'sans-serif');
    const { xLog, yLog, axis, xTitle } = this.view;
    const look = {
      stroke: text,
      font,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1, size: 4 }
    };
    const texts =
      (log: boolean): uPlot.Axis.DynamicValues =>
      (_plot, ticks, _axis, _space, step) =>
        log ? logTickTexts(ticks) : tickTexts(ticks, step);
    const xTexts = axis === 'relative' && !xLog ? relativeTexts : texts(xLog);
    return new uPlot(
      {
        width,
        height,
        padding: [8, 14, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: axis === 'time', distr: xLog ? 3 : 1, range: () => [...this.x] as uPlot.Range.MinMax },
          y: { distr: yLog ? 3 : 1, range: () => [...this.y] as uPlot.Range.MinMax }
        },
        axes: [
          {
            ...look,
            size: axis === 'time' ? 38 : 26,
            gap: 4,
            space: X_SPACE,
            label: xTitle,
            labelFont: font,
            labelSize: TITLE_SIZE,
            labelGap: 0,
            ...(xLog ? logSplits(({ bbox }) => bbox.width / X_SPACE) : {}),
            ...(axis === 'time' ? {} : { values: xTexts, grid: { show: false } }),
            ...(axis === 'relative' && !xLog ? { incrs: SECONDS } : {})
          },
          {
            ...look,
            gap: 4,
            space: Y_SPACE,
            ...(yLog ? logSplits(({ bbox }) => bbox.height / Y_SPACE) : {}),
            size: labelWidth,
            values: texts(yLog)
          }
        ],
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
    plot.over.after(this.overlay);
    plot.over.addEventListener('click', ({ offsetX, offsetY }) => {
      plot.setCursor({ left: offsetX, top: offsetY }); // the last move of the pointer may still wait for a frame
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
      if (this.own?.pointer) this.setCursor(null);
      return;
    }
    this.chosen = null;
    const x = plot.posToVal(left, 'x');
    const reach = Math.abs(plot.posToVal(left + REACH, 'x') - x);
    const distance = (value: number) => Math.abs(plot.valToPos(value, 'y') - top);
    const found = readout(this.lines, x, reach, distance, MOST_DOTS);
    const pointer = { left: left + plot.over.offsetLeft, top: top + plot.over.offsetTop };
    this.setCursor({ x, readout: found, pointer });
  }

  private setCursor(cursor: Cursor | null): void {
    if (!cursor && !this.own) return;
    this.own = cursor;
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
    context.restore();
    this.paintOverlay();
  }

  /** The emphasized line, and the points and the place of the cursor. */
  private paintOverlay(): void {
    const { plot, overlay } = this;
    if (!plot) return;
    const { width, height } = plot.ctx.canvas;
    if (overlay.width !== width || overlay.height !== height) {
      overlay.width = width;
      overlay.height = height;
      overlay.style.width = `${plot.width}px`;
      overlay.style.height = `${plot.height}px`;
    }
    const context = overlay.getContext('2d');
    if (!context) return;
    context.clearRect(0, 0, width, height);
    const { bbox } = plot;
    const [xScale, yScale] = this.scales(plot);
    const key = this.own?.readout.nearest?.line.data.key ?? this.emphasized;
    const line =
      key === null ? undefined : this.lines.find(({ data }) => data.key === key || only(data.runs, key));
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    if (line) {
      if (this.lines.length > 4) {
        context.globalAlpha = VEIL;
        context.fillStyle = background(this.el);
        context.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
        context.globalAlpha = 1;
      }
      const mean = this.lines.find(({ data }) => data.key === line.data.thin);
      for (const one of mean ? [line, mean] : [line]) {
        this.painter.emphasize(context, one, xScale, yScale, uPlot.pxRatio);
      }
    }
    const x = this.own?.x ?? this.linked;
    if (x !== null && x !== undefined && x >= this.x[0] && x <= this.x[1]) this.paintCursor(context, plot, x);
    context.restore();
  }

  private paintCursor(context: CanvasRenderingContext2D, plot: uPlot, x: number): void {
    const { bbox } = plot;
    const ratio = uPlot.pxRatio;
    if (!this.own?.pointer) {
      context.strokeStyle = getComputedStyle(this.el).getPropertyValue('--mosaic-chart-text');
      context.globalAlpha = 0.6;
      context.setLineDash([4 * ratio, 3 * ratio]);
      context.lineWidth = ratio;
      const left = Math.round(plot.valToPos(x, 'x', true)) + 0.5;
      context.beginPath();
      context.moveTo(left, bbox.top);
      context.lineTo(left, bbox.top + bbox.height);
      context.stroke();
      context.globalAlpha = 1;
      context.setLineDash([]);
    }
    const points = this.own?.readout.points ?? this.linkedPoints(plot, x);
    for (const { line, x: at, y } of points) {
      const nearest = line.data.key === this.own?.readout.nearest?.line.data.key;
      context.beginPath();
      const [left, top] = [plot.valToPos(at, 'x', true), plot.valToPos(y, 'y', true)];
      context.arc(left, top, (nearest ? 4.5 : 3) * ratio, 0, 2 * Math.PI);
      context.fillStyle = line.color;
      context.fill();
      context.lineWidth = 1.5 * ratio;
      context.strokeStyle = background(this.el);
      context.stroke();
    }
  }

  private linkedPoints(plot: uPlot, x: number): { line: ChartLine; x: number; y: number }[] {
    if (this.lines.length > MOST_DOTS) return [];
    const reach = (REACH * (this.x[1] - this.x[0])) / Math.max(1, plot.over.clientWidth);
    return this.lines.flatMap(line => {
      const point = nearestPoint(line.data, x, reach);
      return point ? [{ line, x: point[0], y: point[1] }] : [];
    });
  }
}

function only(runs: readonly string[], run: string): boolean {
  return runs.length === 1 && runs[0] === run;
}

function background(el: Element): string {
  return getComputedStyle(el).getPropertyValue('--mosaic-chart-back').trim() || '#fff';
}

/** As wide as the longest label needs. */
function labelWidth(plot: uPlot, texts: string[] | null): number {
  const longest = Math.max(0, ...(texts ?? []).map(text => text?.length ?? 0));
  plot.ctx.font = `${11 * uPlot.pxRatio}px sans-serif`;
  const width = longest ? plot.ctx.measureText('0'.repeat(longest)).width / uPlot.pxRatio : 0;
  return Math.max(34, Math.ceil(width) + 14);
}

/** Our own ticks of a logarithmic axis with room for so many, all of which have labels. */
function logSplits(room: (plot: uPlot) => number): Pick<uPlot.Axis, 'splits' | 'filter'> {
  return {
    splits: (plot, _axis, low, high) => logTicks(low, high, Math.floor(room(plot) / uPlot.pxRatio)),
    filter: (_plot, ticks) => ticks
  };
}

const relativeTexts: uPlot.Axis.DynamicValues = (_plot, ticks) => ticks.map(durationText);
