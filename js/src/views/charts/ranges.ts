/** The visible range of a chart. */

import { UNITS } from '../../shared/numbers.ts';
import { trans } from '../translation.ts';
import type { ChartLine, LineData, Numbers } from './lines.ts';

export type Range = readonly [number, number];
export type Limits = readonly [number | null, number | null];

/** The visible part of an axis, and whether it is logarithmic. */
interface AxisView {
  readonly limits: Limits;
  readonly log: boolean;
}

const PADDING = 0.05;
/** Margin added to a growing range, and the share of a range that its data must fill for it to be kept. */
const ROOM = 0.06;
const FILLED = 0.85;

/** The x range of lines; on a logarithmic axis, of their positive x. */
export function xRange(lines: readonly ChartLine[], log: boolean): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const { data } of lines) {
    const { x } = data;
    if (x.length === 0) continue;
    let first = 0;
    while (log && first < x.length && (x[first] as number) <= 0) first++;
    if (first === x.length) continue;
    low = Math.min(low, x[first] as number);
    high = Math.max(high, x[x.length - 1] as number);
  }
  return low <= high ? widened([low, high], log) : null;
}

/** The range of values, including intervals, within an x range and at its edges. */
function valuesIn(lines: readonly ChartLine[], [start, end]: Range, log: boolean): Range | null {
  let low = Infinity;
  let high = -Infinity;
  const include = (value: number) => {
    if (!Number.isFinite(value) || (log && value <= 0)) return;
    if (value < low) low = value;
    if (value > high) high = value;
  };
  const takeAll = ({ x }: LineData, y: Numbers | undefined) => {
    for (let i = 0; y && i < x.length; i++) {
      const position = x[i] as number;
      const value = y[i] as number;
      if (position >= start && position <= end) include(value);
      const next = x[i + 1];
      if (next === undefined) continue;
      for (const edge of [start, end]) {
        if (position < edge && next > edge)
          include(between(value, y[i + 1] as number, (edge - position) / (next - position), log));
      }
    }
  };
  for (const { data } of lines) {
    takeAll(data, data.y);
    takeAll(data, data.low);
    takeAll(data, data.high);
  }
  return low <= high ? [low, high] : null;
}

/** The value of a segment at a part of its way; NaN if a logarithmic axis has no place for an end. */
function between(from: number, to: number, part: number, log: boolean): number {
  return log ? Math.exp((1 - part) * Math.log(from) + part * Math.log(to)) : from + part * (to - from);
}

/** The range of values, including intervals, within an x range, with a small margin. */
export function yRange(lines: readonly ChartLine[], range: Range, log: boolean): Range | null {
  const values = valuesIn(lines, range, log);
  if (!values) return null;
  const [lowest, greatest] = widened(values, log);
  if (log) {
    const factor = (greatest / lowest) ** PADDING;
    return [lowest / factor, greatest * factor];
  }
  const padding = PADDING * (greatest - lowest);
  return [lowest - padding, greatest + padding];
}

/**
 * Why no value of any line is in view: the limits of x or y, or a logarithmic y axis, as all values are ≤ 0; null if
 * there is a value.
 */
export function emptyAxis(lines: readonly ChartLine[], x: AxisView, y: AxisView): 'x' | 'y' | 'log' | null {
  const all = xRange(lines, x.log);
  const range = all && limited(all, x.limits, x.log);
  const values = range && valuesIn(lines, range, y.log);
  if (!values) return range && y.log && valuesIn(lines, range, false) ? 'log' : 'x';
  const [low, high] = limited(values, y.limits, y.log);
  return values[1] < low || values[0] > high ? 'y' : null;
}

/** A range with the typed limits in place of its ends; unchanged if the limits are not a valid range. */
export function limited(range: Range, [low, high]: Limits, log: boolean): Range {
  const lowest = low !== null && (!log || low > 0) ? low : range[0];
  const greatest = high !== null && (!log || high > 0) ? high : range[1];
  return lowest < greatest ? [lowest, greatest] : range;
}

/**
 * The previous range if it still fits, or one with a margin if it has grown a little: growing lines then need
 * a new scale only now and then, not for each point.
 */
export function steady(range: Range, before: Range | null, log: boolean): Range {
  if (!before || (log && before[0] <= 0)) return range;
  const toScale = log ? Math.log : (value: number) => value;
  const [low, high, lowest, greatest] = [...range, ...before].map(toScale) as [
    number,
    number,
    number,
    number
  ];
  const width = high - low;
  if (lowest <= low && high <= greatest) return width >= FILLED * (greatest - lowest) ? before : range;
  const grown = low === lowest && high > greatest && high - greatest < 0.2 * width;
  if (!grown) return range;
  const end = high + ROOM * width;
  return [range[0], log ? Math.exp(end) : end];
}

/** A typed number, such as 2000 or "2k"; null for an empty text, undefined for an invalid one. */
export function typedNumber(text: string): number | null | undefined {
  const trimmed = text.trim().replaceAll(',', '').replaceAll('−', '-');
  if (trimmed === '') return null;
  const unit = UNITS.find(([, letter]) => trimmed.toUpperCase().endsWith(letter.toUpperCase()));
  const digits = unit ? trimmed.slice(0, -1) : trimmed;
  const value = digits.trim() === '' ? Number.NaN : Number(digits) * (unit?.[0] ?? 1);
  return Number.isFinite(value) ? value : undefined;
}

type LimitsProblem = 'number' | 'positive' | 'order';

/** The error in limits in fields with these names. */
export function problemText(problem: LimitsProblem, from: string, to: string): string {
  return {
    number: trans.__('must be a number, such as 2000, 2k or 1M'),
    positive: trans.__('a log axis needs numbers above 0'),
    order: trans.__('%1 must be below %2', from, to)
  }[problem];
}

/**
 * Why typed limits (undefined for invalid numbers) are not valid on an axis of this scale; null if they are.
 * Without a scale they are limits of values, and may be equal.
 */
export function limitsProblem(
  low: number | null | undefined,
  high: number | null | undefined,
  scale: 'linear' | 'log' | null
): LimitsProblem | null {
  if (low === undefined || high === undefined) return 'number';
  if (scale === 'log' && [low, high].some(limit => limit !== null && limit <= 0)) return 'positive';
  if (low === null || high === null) return null;
  return low > high || (scale && low === high) ? 'order' : null;
}

/** A range with a nonzero width. */
function widened([low, high]: Range, log: boolean): Range {
  if (low < high) return [low, high];
  if (log) return [low / 2, high * 2];
  const half = Math.abs(low) > 0 ? Math.abs(low) * 0.05 : 0.5;
  return [low - half, high + half];
}
