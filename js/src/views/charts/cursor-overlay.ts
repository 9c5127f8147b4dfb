/** The canvas above a chart's lines: the emphasized line, and the points under the cursor. */

import uPlot from 'uplot';
import type { Cursor } from './line-chart.ts';
import type { LinePainter, Scale } from './line-painter.ts';
import type { ChartLine } from './lines.ts';
import { nearestPoint } from './nearest.ts';

/** Maximum distance, in CSS pixels, between the pointer and a line's nearest point. */
export const REACH = 16;
export const MAX_DOTS = 12;
const VEIL = 0.55;

interface Marked {
  readonly lines: readonly ChartLine[];
  readonly scales: readonly [Scale, Scale];
  /** The chart's own cursor. */
  readonly cursor: Cursor | null;
  /** The x of another chart's cursor. */
  readonly linked: number | null;
  /** The run whose line is drawn above the others. */
  readonly emphasized: string | null;
}

export class CursorOverlay {
  private readonly el: HTMLElement;
  private readonly painter: LinePainter;
  private readonly canvas = document.createElement('canvas');

  constructor(el: HTMLElement, painter: LinePainter) {
    this.el = el;
    this.painter = painter;
    this.canvas.className = 'mosaic-chart-overlay';
  }

  attach(plot: uPlot): void {
    plot.over.after(this.canvas);
  }

  paint(plot: uPlot, marked: Marked): void {
    this.resize(plot);
    const context = this.canvas.getContext('2d');
    if (!context) return;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { bbox } = plot;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    this.paintLine(context, bbox, marked);
    const [{ min, max }] = marked.scales;
    const x = marked.cursor?.x ?? marked.linked;
    if (x !== null && x >= min && x <= max) {
      if (!marked.cursor?.pointer) this.paintPlace(context, plot, x);
      this.paintPoints(context, plot, marked, x);
    }
    context.restore();
  }

  private resize({ ctx, width, height }: uPlot): void {
    const { canvas } = this;
    if (canvas.width === ctx.canvas.width && canvas.height === ctx.canvas.height) return;
    canvas.width = ctx.canvas.width;
    canvas.height = ctx.canvas.height;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  private paintLine(context: CanvasRenderingContext2D, bbox: uPlot.BBox, marked: Marked): void {
    const { lines, scales, cursor, emphasized } = marked;
    const key = cursor?.readout.nearest?.line.data.key ?? emphasized;
    const line =
      key === null ? undefined : lines.find(({ data }) => data.key === key || only(data.runs, key));
    if (!line) return;
    if (lines.length > 4) {
      context.globalAlpha = VEIL;
      context.fillStyle = this.background();
      context.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
      context.globalAlpha = 1;
    }
    const mean = lines.find(({ data }) => data.key === line.data.thin);
    for (const drawn of mean ? [line, mean] : [line]) {
      this.painter.emphasize(context, drawn, ...scales, uPlot.pxRatio);
    }
  }

  private paintPlace(context: CanvasRenderingContext2D, plot: uPlot, x: number): void {
    const ratio = uPlot.pxRatio;
    context.strokeStyle = getComputedStyle(this.el).getPropertyValue('--mosaic-chart-text');
    context.globalAlpha = 0.6;
    context.setLineDash([4 * ratio, 3 * ratio]);
    context.lineWidth = ratio;
    const left = Math.round(plot.valToPos(x, 'x', true)) + 0.5;
    context.beginPath();
    context.moveTo(left, plot.bbox.top);
    context.lineTo(left, plot.bbox.top + plot.bbox.height);
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  private paintPoints(context: CanvasRenderingContext2D, plot: uPlot, marked: Marked, x: number): void {
    const ratio = uPlot.pxRatio;
    const { readout } = marked.cursor ?? {};
    for (const { line, x: pointX, y } of readout?.points ?? linkedPoints(plot, marked, x)) {
      const nearest = line.data.key === readout?.nearest?.line.data.key;
      context.beginPath();
      const [left, top] = [plot.valToPos(pointX, 'x', true), plot.valToPos(y, 'y', true)];
      context.arc(left, top, (nearest ? 4.5 : 3) * ratio, 0, 2 * Math.PI);
      context.fillStyle = line.color;
      context.fill();
      context.lineWidth = 1.5 * ratio;
      context.strokeStyle = this.background();
      context.stroke();
    }
  }

  private background(): string {
    return getComputedStyle(this.el).getPropertyValue('--mosaic-chart-back').trim() || '#fff';
  }
}

function linkedPoints(
  plot: uPlot,
  { lines, scales: [{ min, max }] }: Marked,
  x: number
): { line: ChartLine; x: number; y: number }[] {
  if (lines.length > MAX_DOTS) return [];
  const reach = (REACH * (max - min)) / Math.max(1, plot.over.clientWidth);
  return lines.flatMap(line => {
    const point = nearestPoint(line.data, x, reach);
    return point ? [{ line, x: point[0], y: point[1] }] : [];
  });
}

function only(runs: readonly string[], run: string): boolean {
  return runs.length === 1 && runs[0] === run;
}
