/** Axes of parallel coordinates and of the scatter plot, numeric or categorical. */

import { settingText } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { evenTicks, roundStep, tickTexts } from '../charts/ticks.ts';
import { type Filter, type Results, valueNamed } from './settings.ts';

const LOG_FROM = 9.99;
/** An axis with at most this many distinct numbers has its ticks at these. */
const FEW_NUMBERS = 6;
const MAX_TEXTS = 40;

export interface ValueAxis {
  readonly name: string;
  /** The values of a categorical axis, in order. */
  readonly texts: readonly string[] | null;
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
  /** The positions of the ticks, if there are few numbers. */
  readonly numbers?: readonly number[] | undefined;
}

/** The axis for these runs: logarithmic for positive numbers over several orders of magnitude, if allowed. */
export function axisOf(name: string, rows: readonly RunRow[], results: Results, mayBeLog = true): ValueAxis {
  const values = rows
    .map(row => valueNamed(row, name, results))
    .filter(value => value !== null && value !== undefined);
  const numbers = values.filter(value => typeof value === 'number' && Number.isFinite(value)) as number[];
  if (numbers.length < values.length || numbers.length === 0) {
    const texts = [...new Set(values.map(settingText))].sort((a, b) =>
      a.localeCompare(b, undefined, { numeric: true })
    );
    return {
      name,
      texts: texts.slice(0, MAX_TEXTS),
      low: 0,
      high: Math.max(1, texts.length - 1),
      log: false
    };
  }
  const low = numbers.reduce((a, b) => Math.min(a, b));
  const high = numbers.reduce((a, b) => Math.max(a, b));
  if (low === high) {
    const half = Math.abs(low) * 0.05 || 0.5;
    return { name, texts: null, low: low - half, high: high + half, log: false, numbers: [low] };
  }
  const different = [...new Map(numbers.map(value => [settingText(value), value])).values()];
  const few = different.length <= FEW_NUMBERS && mayBeLog ? different : undefined;
  return { name, texts: null, low, high, log: mayBeLog && low > 0 && high / low >= LOG_FROM, numbers: few };
}

/** The position of a value on the axis, 0 to 1; null if it is not on the axis. */
export function placeOn(axis: ValueAxis, value: unknown): number | null {
  if (value === null || value === undefined) return null;
  if (axis.texts) {
    const index = axis.texts.indexOf(settingText(value));
    if (index < 0) return null;
    return axis.texts.length === 1 ? 0.5 : index / (axis.texts.length - 1);
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || (axis.log && value <= 0)) return null;
  if (axis.log) return Math.log(value / axis.low) / Math.log(axis.high / axis.low);
  return (value - axis.low) / (axis.high - axis.low);
}

/** The number at a position on a numeric axis. */
function numberAt(axis: ValueAxis, fraction: number): number {
  if (axis.log) return axis.low * (axis.high / axis.low) ** fraction;
  return axis.low + fraction * (axis.high - axis.low);
}

/** The filter of a brush over a part of an axis; null if it excludes nothing. */
export function brushed(axis: ValueAxis, from: number, to: number): Filter | null {
  const [low, high] = [Math.max(0, Math.min(from, to)), Math.min(1, Math.max(from, to))];
  if (low === 0 && high === 1) return null;
  if (axis.texts) {
    const values = axis.texts.filter(text => {
      const fraction = placeOn(axis, text) ?? -1;
      return fraction >= low && fraction <= high;
    });
    return values.length ? { values } : null;
  }
  const limit = (fraction: number) => {
    const value = numberAt(axis, fraction);
    const digits = Math.ceil(Math.log10(Math.max(1, Math.abs(value) / (axis.high - axis.low))));
    return Number(value.toPrecision(Math.min(15, 4 + digits)));
  };
  return { low: low === 0 ? null : limit(low), high: high === 1 ? null : limit(high) };
}

/** The part of an axis that passes a filter; null without a filter. */
export function brushOf(axis: ValueAxis, filter: Filter | undefined): [number, number] | null {
  if (!filter) return null;
  if ('values' in filter) {
    const fractions = filter.values.map(text => placeOn(axis, text)).filter(fraction => fraction !== null);
    if (fractions.length === 0) return null;
    return [Math.max(0, Math.min(...fractions) - 0.02), Math.min(1, Math.max(...fractions) + 0.02)];
  }
  const clamp = (fraction: number | null, end: number) => Math.max(0, Math.min(1, fraction ?? end));
  return [
    filter.low === null ? 0 : clamp(placeOn(axis, filter.low), 0),
    filter.high === null ? 1 : clamp(placeOn(axis, filter.high), 1)
  ];
}

/** Positions and labels of ticks: round numbers, at most about `most`. */
export function ticksOf(axis: ValueAxis, maxTicks: number): { place: number; text: string }[] {
  if (axis.texts) {
    const every = Math.ceil(axis.texts.length / Math.max(1, maxTicks));
    return axis.texts
      .map(text => ({ place: placeOn(axis, text) ?? 0, text }))
      .filter((_, i) => i % every === 0);
  }
  if (axis.numbers) {
    return axis.numbers.map(number => ({ place: placeOn(axis, number) ?? 0, text: settingText(number) }));
  }
  if (axis.log) {
    const powers: number[] = [];
    for (let power = Math.ceil(Math.log10(axis.low) - 1e-9); 10 ** power <= axis.high * (1 + 1e-9); power++) {
      powers.push(10 ** power);
    }
    const ticks = powers.length >= 2 ? powers : [axis.low, ...powers, axis.high];
    return ticks.map(tick => ({
      place: placeOn(axis, tick) ?? 0,
      text: settingText(Number(tick.toPrecision(3)))
    }));
  }
  const step = roundStep((axis.high - axis.low) / Math.max(1, maxTicks));
  const ticks = evenTicks(axis.low, axis.high, Math.max(1, maxTicks));
  const texts = tickTexts(ticks, step);
  return ticks.map((tick, i) => ({ place: placeOn(axis, tick) ?? 0, text: texts[i] ?? '' }));
}
