/** The ticks of an axis, their labels, and positions on it in words. */

import { duration, integerText, number, UNITS } from '../../shared/numbers.ts';
import type { Axis } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

/** Multiples of each power of ten, densest first. */
const FEW_DECADES = [[1, 2, 5], [1, 3], [1]];
const WITHIN_A_DECADE = [[1, 2, 3, 5, 7], ...FEW_DECADES];
/** This many even steps, rounded, leave at least two ticks. */
const MIN_STEPS = 5;

/** Minimum distance between the ticks of an x axis, in CSS pixels, and that of short labels in narrow charts. */
export const X_SPACE = 64;
const MIN_X_SPACE = 40;

/** The minimum distance of ticks in this width: steps of 1, 2 and 5 then have at least two ticks in it. */
export function xSpace(width: number): number {
  return Math.max(MIN_X_SPACE, Math.min(X_SPACE, width / 5));
}

/** Round ticks of a logarithmic axis: about `most`, at least two, at powers of ten if these suffice. */
export function logTicks(low: number, high: number, maxTicks: number): number[] {
  const count = Math.max(2, maxTicks);
  for (const factors of high / low < 10 ? WITHIN_A_DECADE : FEW_DECADES) {
    const ticks = multiples(low, high, factors);
    if (ticks.length >= 2 && ticks.length <= count) return ticks;
  }
  const powers = multiples(low, high, [1]);
  if (powers.length <= count) return evenTicks(low, high, Math.max(MIN_STEPS, count));
  const every = Math.ceil(powers.length / count);
  return powers.filter((_, i) => i % every === 0);
}

/** Evenly spaced ticks: multiples of a round number. */
export function evenTicks(low: number, high: number, maxTicks: number): number[] {
  const step = roundStep((high - low) / maxTicks);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

/** The smallest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) not below `size`. */
export function roundStep(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return power * ([1, 2, 5].find(factor => factor * power >= size * (1 - 1e-9)) ?? 10);
}

/** These multiples of each power of ten in a range. */
function multiples(low: number, high: number, factors: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * (1 + 1e-9); power++) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

/** The precision of a number. */
const MAX_DIGITS = 15;

/** The labels of an axis' ticks, all with the same unit and enough digits to distinguish them. */
export function tickTexts(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  const [unit, letter] = UNITS.find(([size]) => largest >= 10 * size) ?? [1, ''];
  const scaled = Math.abs(step) / unit;
  if (largest > 0 && largest < 1e-3) {
    const digits = digitsOf(ticks, 3);
    return ticks.map(tick => (tick === null ? '' : number(tick, digits)));
  }
  const decimals = scaled > 0 ? Math.max(0, Math.min(9, -Math.floor(Math.log10(scaled) + 1e-9))) : 0;
  const part =
    scaled > 0 && Math.abs(scaled * 10 ** decimals - Math.round(scaled * 10 ** decimals)) > 1e-6 ? 1 : 0;
  return ticks.map(tick => {
    if (tick === null) return '';
    if (tick === 0) return '0';
    const text = (tick / unit).toLocaleString('en-US', {
      minimumFractionDigits: decimals + part,
      maximumFractionDigits: decimals + part
    });
    return `${minus(text)}${letter}`;
  });
}

/** The labels of a logarithmic axis, each with its own unit: "100", "1,000", "10k", "1M". */
export function logTickTexts(ticks: readonly (number | null)[]): string[] {
  const digits = digitsOf(ticks, 6);
  return ticks.map(tick => {
    if (tick === null) return '';
    if (tick < 1e-3 || tick >= 1e15) {
      return Number(tick.toPrecision(digits)).toExponential().replace('e+', 'e');
    }
    const [unit, letter] = (tick >= 1e4 && UNITS.find(([size]) => tick >= size)) || [1, ''];
    return `${(tick / unit).toLocaleString('en-US', { maximumSignificantDigits: digits })}${letter}`;
  });
}

/** A position on an x axis of this kind, in words. */
export function placeText(value: number, axis: 'step' | 'episode' | 'time' | 'relative'): string {
  if (axis === 'time') {
    return new Date(1000 * value).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' });
  }
  return axis === 'relative' ? duration(value) : integerText(Math.round(value));
}

/** The labels of an axis of durations, in seconds. */
export function durationTicks(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  if (largest < 60)
    return tickTexts(ticks, step).map(text => (text === '' || text === '0' ? text : `${text}s`));
  const finest = largest < 3600 ? 1 : largest < 86_400 ? 60 : 3600;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map(tick => {
    if (!tick) return tick === null ? '' : '0';
    return step < finest ? fullDuration(tick, decimals) : duration(tick).replace(/ 0+[a-z]+$/, '');
  });
}

/** All units of a duration: "1h 0m 5.2s". */
function fullDuration(seconds: number, decimals: number): string {
  const texts: string[] = [];
  let remaining = Number(seconds.toFixed(decimals));
  for (const [size, letter] of [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'm']
  ] as const) {
    if (seconds >= size) texts.push(`${Math.floor(remaining / size)}${letter}`);
    remaining %= size;
  }
  return [...texts, `${remaining.toFixed(decimals)}s`].join(' ');
}

/** The significant digits that distinguish the ticks, at least `least`. */
function digitsOf(ticks: readonly (number | null)[], minimum: number): number {
  const numbers = ticks.filter(tick => tick !== null);
  const largest = Math.max(...numbers.map(Math.abs));
  const step = Math.min(...numbers.slice(1).map((tick, i) => tick - (numbers[i] as number)));
  const digits = Math.floor(Math.log10(largest)) - Math.floor(Math.log10(step)) + 2;
  return Number.isFinite(digits) ? Math.max(minimum, Math.min(MAX_DIGITS, digits)) : minimum;
}

function minus(text: string): string {
  return text.replace(/^-/, '−');
}

/** As titles, in the order of the selection. */
export function axisTitles(): Readonly<Record<Axis, string>> {
  return {
    step: trans.__('Steps'),
    episode: trans.__('Episodes'),
    relative: trans.__('Relative time'),
    time: trans.__('Wall time')
  };
}

/** A prefix for a position on the axis: "step 1,000", "after 2 min". */
export function axisLabel(axis: Axis): string {
  return {
    step: trans.__('step'),
    episode: trans.__('episode'),
    time: trans.__('time'),
    relative: trans.__('after')
  }[axis];
}
