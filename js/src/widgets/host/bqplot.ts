/**
 * The pointer's position on a bqplot figure, and the figure's lines. None of this is public interface:
 * checked on bqplot 0.13.1 (`plotarea_events` is the rectangle between the axes; the rows of a
 * two-dimensional array are arrays; a `Scatter` has one colour per point) and bqscales 0.3.7 (`domain` is the
 * displayed range of a scale).
 */

const PLOT = '.plotarea_events';

interface ScaleModel {
  readonly domain?: readonly [number, number];
}

/** A mark or a scale, with Backbone's events. */
export interface Changing {
  on(events: string, listener: () => void): void;
  off(events: string, listener: () => void): void;
}

/** A mark has new data, or a scale a new domain. */
export const CHANGES = 'change domain_changed';

/** The x value below the pointer; null outside the axes. */
export function valueAt(figure: Element, scale: unknown, event: MouseEvent): number | null {
  const box = figure.querySelector(PLOT)?.getBoundingClientRect();
  const [low, high] = (scale as ScaleModel).domain ?? [];
  if (!box?.width || low === undefined || high === undefined) return null;
  if (event.clientY < box.top || event.clientY > box.bottom) return null;
  const part = (event.clientX - box.left) / box.width;
  return part < 0 || part > 1 ? null : low + part * (high - low);
}

/** The rectangle between the axes, in window pixels. */
export function plotArea(figure: Element): DOMRect | null {
  const box = figure.querySelector(PLOT)?.getBoundingClientRect();
  return box?.width ? box : null;
}

/** The position of a value on the axis, from 0 at the displayed minimum to 1 at the maximum. */
export function placeOf(scale: unknown, value: number, log: boolean): number {
  const [low = 0, high = 1] = (scale as ScaleModel).domain ?? [];
  const toScale = log ? Math.log : (number: number) => number;
  return (toScale(value) - toScale(low)) / (toScale(high) - toScale(low));
}

/** The width of the displayed range. */
export function spanOf(scale: unknown): number {
  const [low = 0, high = 1] = (scale as ScaleModel).domain ?? [];
  return high - low;
}

/** The y value below the pointer, which is between the axes. */
export function heightAt(area: DOMRect, scale: unknown, event: MouseEvent): number {
  const [low = 0, high = 1] = (scale as ScaleModel).domain ?? [];
  return low + ((area.bottom - event.clientY) / area.height) * (high - low);
}

/** The model of a mark, `Lines` or `Scatter`. */
export interface MarkModel {
  get(name: 'x' | 'y'): ArrayLike<number> | readonly ArrayLike<number>[];
  get(name: 'colors'): readonly string[];
  get(name: '_model_name'): string;
}

interface MarkLine {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly color: string;
}

/** The lines of a mark; each point of a `Scatter` counts as one. */
export function linesOfMark(mark: MarkModel): MarkLine[] {
  const points = mark.get('_model_name') === 'ScatterModel';
  const [xs, ys] = (['x', 'y'] as const).map(name =>
    points ? Array.from(mark.get(name) as ArrayLike<number>, y => [y]) : rowsOf(mark.get(name))
  ) as [ArrayLike<number>[], ArrayLike<number>[]];
  const colors = mark.get('colors');
  return ys.map((y, i) => ({
    x: Float64Array.from(xs[Math.min(i, xs.length - 1)] ?? []),
    y: Float64Array.from(y),
    color: colors[i % colors.length] ?? ''
  }));
}

function rowsOf(values: ArrayLike<number> | readonly ArrayLike<number>[]): ArrayLike<number>[] {
  if (!values.length) return [];
  return typeof values[0] === 'number' ? [values as ArrayLike<number>] : [...(values as ArrayLike<number>[])];
}
