/**
 * Draws lines on a canvas. A line's path is cached until its numbers or the scales change.
 *
 * A stroke of exactly one pixel costs a twentieth of a wider one (200 lines of 400 points: 9 against 190 ms,
 * in Chromium without a GPU). Many lines are therefore drawn as one or two strokes of one pixel each; a few
 * lines are drawn wide.
 */

import type { ChartLine, LineData, Numbers } from './lines.ts';

/** The mapping of an axis from values to pixels of the canvas. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly log: boolean;
  /** The pixels of `min` and `max`. */
  readonly from: number;
  readonly to: number;
}

const FEW = 16;
const SOME = 60;
const FAR = 1e5;
/** In CSS pixels. */
const WIDTH = 1.5;
const EMPHASIZED_WIDTH = 2.5;
const MEAN_WIDTH = 3;
const BAND_OPACITY = 0.2;
const THIN_OPACITY = 0.35;
const RAW_OPACITY = 0.25;

interface Cached {
  readonly scales: string;
  readonly path: Path2D;
  readonly band: Path2D | null;
}

/**
 * The function from a value to its pixel, which is clamped far outside instead of infinite. On a logarithmic axis values
 * ≤ 0 have none, but a `bound` of an interval is then far below.
 */
export function projection({ min, max, log, from, to }: Scale, bound = false): (value: number) => number {
  const clamp = (pixel: number) => Math.max(-FAR, Math.min(FAR, pixel));
  if (!log) {
    const factor = (to - from) / (max - min);
    return value => clamp(from + (value - min) * factor);
  }
  const start = Math.log(min);
  const factor = (to - from) / (Math.log(max) - start);
  const below = bound ? clamp(-factor * Infinity) : Number.NaN;
  return value => {
    if (value > 0) return clamp(from + (Math.log(value) - start) * factor);
    return value <= 0 ? below : Number.NaN;
  };
}

/** A picture of the lines unchanged since the last drawing. */
interface Still {
  readonly look: string;
  readonly lines: readonly ChartLine[];
  readonly canvas: HTMLCanvasElement;
}

export class LinePainter {
  private readonly cache = new WeakMap<LineData, Cached>();
  private still: Still | null = null;
  /** The data of each line when last drawn, and the lines that keep changing while the scales do not. */
  private last = new Map<string, LineData>();
  private moving = new Set<string>();

  /** Draw all lines, the first on top but below changing ones, within the context's clip region. */
  paint(
    context: CanvasRenderingContext2D,
    lines: readonly ChartLine[],
    x: Scale,
    y: Scale,
    ratio: number
  ): void {
    if (lines.length <= FEW) {
      this.still = null;
      this.paintAll(context, lines, lines.length, x, y, ratio);
      return;
    }
    const { width, height } = context.canvas;
    const look = JSON.stringify([x, y, width, height, lines.length]);
    if (look !== this.still?.look) this.moving = new Set();
    const changed = lines.map(({ data }) => data).filter(data => this.isOther(data));
    for (const { key } of changed) this.moving.add(key);
    // Most changed together, for example by another smoothing: this does not mean that they grow.
    if (2 * this.moving.size > lines.length) this.moving = new Set(changed.map(({ key }) => key));
    this.last = new Map(lines.map(({ data }) => [data.key, data]));
    const resting = lines.filter(({ data }) => !this.moving.has(data.key));
    if (look !== this.still?.look || !sameLines(resting, this.still.lines)) {
      const canvas = this.still?.canvas ?? document.createElement('canvas');
      canvas.width = width;
      canvas.height = height;
      const picture = canvas.getContext('2d');
      if (picture) this.paintAll(picture, resting, lines.length, x, y, ratio);
      this.still = { look, lines: resting, canvas };
    }
    context.drawImage(this.still.canvas, 0, 0);
    const changing = lines.filter(({ data }) => this.moving.has(data.key));
    this.paintAll(context, changing, lines.length, x, y, ratio);
  }

  /** Whether the line was last drawn with other numbers. */
  private isOther(data: LineData): boolean {
    const before = this.last.get(data.key);
    return before !== undefined && before !== data;
  }

  private paintAll(
    context: CanvasRenderingContext2D,
    lines: readonly ChartLine[],
    count: number,
    x: Scale,
    y: Scale,
    ratio: number
  ): void {
    const scales = JSON.stringify([x, y]);
    const drawn = [...lines].reverse();
    const passes = count <= FEW ? 0 : count <= SOME ? 2 : 1;
    context.save();
    context.lineJoin = 'bevel';
    for (const { data, color } of drawn) {
      const { band } = this.paths(data, x, y, scales);
      if (!band) continue;
      context.globalAlpha = BAND_OPACITY;
      context.fillStyle = color;
      context.fill(band);
    }
    context.lineWidth = 1;
    for (const { raw, color } of drawn) {
      if (!raw) continue;
      context.globalAlpha = RAW_OPACITY;
      context.strokeStyle = color;
      context.stroke(this.paths(raw, x, y, scales).path);
    }
    for (const { data, color } of drawn) {
      const { path } = this.paths(data, x, y, scales);
      context.globalAlpha = data.thin === undefined ? 1 : THIN_OPACITY;
      context.strokeStyle = color;
      if (data.thin === undefined && passes === 0) {
        context.lineWidth = ratio * (data.runs.length > 1 ? MEAN_WIDTH : WIDTH);
        context.stroke(path);
        continue;
      }
      context.lineWidth = 1;
      const strokes = Math.max(passes, Math.ceil(ratio));
      for (let i = 0; i < strokes; i++) {
        const shift = 0.6 * (i - (strokes - 1) / 2);
        context.translate(shift, shift);
        context.stroke(path);
        context.translate(-shift, -shift);
      }
    }
    context.restore();
  }

  /** Draw one line wide; a run is narrower than the mean in front of it. */
  emphasize(context: CanvasRenderingContext2D, line: ChartLine, x: Scale, y: Scale, ratio: number): void {
    context.lineJoin = 'bevel';
    const { runs, thin } = line.data;
    const width = runs.length > 1 ? MEAN_WIDTH : thin === undefined ? EMPHASIZED_WIDTH : WIDTH;
    context.lineWidth = ratio * width;
    context.strokeStyle = line.color;
    context.stroke(this.paths(line.data, x, y, JSON.stringify([x, y])).path);
  }

  private paths(data: LineData, x: Scale, y: Scale, scales: string): Cached {
    const hit = this.cache.get(data);
    if (hit?.scales === scales) return hit;
    const xs = pixels(data.x, projection(x));
    const path = trace(xs, pixels(data.y, projection(y)));
    const band =
      data.low && data.high
        ? outline(xs, pixels(data.low, projection(y, true)), pixels(data.high, projection(y, true)))
        : null;
    const cached = { scales, path, band };
    this.cache.set(data, cached);
    return cached;
  }
}

function pixels(values: Numbers, project: (value: number) => number): Float32Array {
  const mapped = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) mapped[i] = project(values[i] as number);
  return mapped;
}

function sameLines(now: readonly ChartLine[], before: readonly ChartLine[]): boolean {
  return (
    now.length === before.length &&
    now.every((line, i) => {
      const other = before[i];
      return line.data === other?.data && line.color === other.color && line.raw === other.raw;
    })
  );
}

/** A line through the points, with gaps at missing values; an isolated point is a short dash. */
function trace(xs: Float32Array, ys: Float32Array): Path2D {
  const path = new Path2D();
  let open = false;
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i] as number;
    const y = ys[i] as number;
    if (Number.isNaN(x) || Number.isNaN(y)) {
      open = false;
      continue;
    }
    if (open) {
      path.lineTo(x, y);
      continue;
    }
    open = true;
    path.moveTo(x, y);
    if (i + 1 === xs.length || Number.isNaN(ys[i + 1] as number)) {
      path.moveTo(x - 2, y);
      path.lineTo(x + 2, y);
    }
  }
  return path;
}

/** The closed outline of each segment between bounds. */
function outline(xs: Float32Array, low: Float32Array, high: Float32Array): Path2D {
  const path = new Path2D();
  let first = -1;
  for (let i = 0; i <= xs.length; i++) {
    const cached =
      i < xs.length && !Number.isNaN((xs[i] as number) + (low[i] as number) + (high[i] as number));
    if (cached && first < 0) first = i;
    if (cached || first < 0) continue;
    path.moveTo(xs[first] as number, high[first] as number);
    for (let k = first + 1; k < i; k++) path.lineTo(xs[k] as number, high[k] as number);
    for (let k = i - 1; k >= first; k--) path.lineTo(xs[k] as number, low[k] as number);
    path.closePath();
    first = -1;
  }
  return path;
}
