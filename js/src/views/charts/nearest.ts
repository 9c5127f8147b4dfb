/** The points of lines nearest to a position: the values beside the pointer. */

import { fineNumber } from '../../shared/numbers.ts';
import type { ChartLine, LineData } from './lines.ts';

export interface Near {
  readonly line: ChartLine;
  readonly x: number;
  readonly y: number;
}

export interface Readout {
  /** Sorted by value, greatest first. */
  readonly points: readonly Near[];
  /** The point nearest to the pointer. */
  readonly nearest: Near | null;
  /** The number of other lines with a point here. */
  readonly more: number;
}

export const EMPTY: Readout = { points: [], nearest: null, more: 0 };

/** The index of the nearest of these ascending numbers to `value`; -1 if there are none. */
export function nearestIndex(numbers: Float64Array, value: number): number {
  let low = 0;
  let high = numbers.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) <= value) low = middle;
    else high = middle;
  }
  return value - (numbers[low] as number) <= (numbers[high] as number) - value ? low : high;
}

/** The point of a line nearest in x with a finite value; null if the line ends more than `reach` away. */
export function nearestPoint(data: LineData, x: number, reach: number): [number, number] | null {
  const { length } = data.x;
  if (length === 0) return null;
  if (x < (data.x[0] as number) - reach || x > (data.x[length - 1] as number) + reach) return null;
  const nearest = nearestIndex(data.x, x);
  for (let distance = 0; distance < length; distance++) {
    for (const index of distance === 0 ? [nearest] : [nearest - distance, nearest + distance]) {
      const value = data.y[index];
      if (value !== undefined && Number.isFinite(value)) return [data.x[index] as number, value];
    }
  }
  return null;
}

/** The interval around the value of a point; null if there is none. */
export function intervalAt({ line: { data }, x }: Near): [number, number] | null {
  const index = nearestIndex(data.x, x);
  const [low, high] = [data.low?.[index], data.high?.[index]];
  return Number.isFinite(low) && Number.isFinite(high) ? [low as number, high as number] : null;
}

/**
 * The values to show at `x`. With many lines, the `most` nearest in value are listed.
 *
 * `distance` is the distance of a value from the pointer; if there is a `chosen` line, it counts as the
 * nearest.
 */
export function readout(
  lines: readonly ChartLine[],
  x: number,
  reach: number,
  distance: (value: number) => number,
  maxCount = 12,
  chosen: string | null = null
): Readout {
  const nearPoints: Near[] = [];
  for (const line of lines) {
    const point = nearestPoint(line.data, x, reach);
    if (point) nearPoints.push({ line, x: point[0], y: point[1] });
  }
  if (nearPoints.length === 0) return EMPTY;
  nearPoints.sort((a, b) => b.y - a.y);
  let position = nearPoints.findIndex(({ line }) => line.data.key === chosen);
  if (position < 0) {
    position = 0;
    for (let i = 1; i < nearPoints.length; i++) {
      const nearer = distance((nearPoints[i] as Near).y) < distance((nearPoints[position] as Near).y);
      if (nearer) position = i;
    }
  }
  const first = Math.max(0, Math.min(position - (maxCount >> 1), nearPoints.length - maxCount));
  const points = nearPoints.slice(first, first + maxCount);
  return { points, nearest: nearPoints[position] ?? null, more: nearPoints.length - points.length };
}

interface RowValue {
  readonly line: ChartLine;
  /** The same number twice for a point. */
  readonly low: number;
  readonly high: number;
}

/** The values of lines in a row, those with a point nearest to `x` first. */
export function valuesInRow(lines: readonly ChartLine[], row: number, x: number): RowValue[] {
  const values: RowValue[] = [];
  for (const line of lines) {
    const columns = line.data.x.filter((value, i) => line.data.y[i] === row && Number.isFinite(value));
    if (columns.length) values.push({ line, low: Math.min(...columns), high: Math.max(...columns) });
  }
  const distance = ({ low, high }: RowValue) => Math.min(Math.abs(low - x), Math.abs(high - x));
  return values.sort((a, b) => distance(a) - distance(b));
}

export function rowText({ low, high }: RowValue): string {
  return low === high ? fineNumber(low) : `${fineNumber(low)} to ${fineNumber(high)}`;
}
