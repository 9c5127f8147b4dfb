/** The labels of axes, and positions on them in words. */

import { duration, number, UNITS, whole } from '../../shared/numbers.ts';

/** The precision of a number. */
const MOST_DIGITS = 15;

/** The labels of an axis' ticks, all with the same unit and enough digits to distinguish them. */
export function tickTexts(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  const [unit, letter] = UNITS.find(([size]) => largest >= 10 * size) ?? [1, ''];
  const least = Math.abs(step) / unit;
  if (largest > 0 && largest < 1e-3) {
    const digits = digitsOf(ticks, 3);
    return ticks.map(tick => (tick === null ? '' : number(tick, digits)));
  }
  const places = least > 0 ? Math.max(0, Math.min(9, -Math.floor(Math.log10(least) + 1e-9))) : 0;
  const part = least > 0 && Math.abs(least * 10 ** places - Math.round(least * 10 ** places)) > 1e-6 ? 1 : 0;
  return ticks.map(tick => {
    if (tick === null) return '';
    if (tick === 0) return '0';
    const text = (tick / unit).toLocaleString('en-US', {
      minimumFractionDigits: places + part,
      maximumFractionDigits: places + part
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
  return axis === 'relative' ? duration(value) : whole(Math.round(value));
}

/** The labels of an axis of durations, in seconds. */
export function durationTicks(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  if (largest < 60)
    return tickTexts(ticks, step).map(text => (text === '' || text === '0' ? text : `${text}s`));
  const finest = largest < 3600 ? 1 : largest < 86_400 ? 60 : 3600;
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map(tick => {
    if (!tick) return tick === null ? '' : '0';
    return step < finest ? fullDuration(tick, places) : duration(tick).replace(/ 0+[a-z]+$/, '');
  });
}

/** All units of a duration: "1h 0m 5.2s". */
function fullDuration(seconds: number, places: number): string {
  const texts: string[] = [];
  let rest = Number(seconds.toFixed(places));
  for (const [size, letter] of [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'm']
  ] as const) {
    if (seconds >= size) texts.push(`${Math.floor(rest / size)}${letter}`);
    rest %= size;
  }
  return [...texts, `${rest.toFixed(places)}s`].join(' ');
}

/** The significant digits that distinguish the ticks, at least `least`. */
function digitsOf(ticks: readonly (number | null)[], least: number): number {
  const known = ticks.filter(tick => tick !== null);
  const largest = Math.max(...known.map(Math.abs));
  const step = Math.min(...known.slice(1).map((tick, i) => tick - (known[i] as number)));
  const digits = Math.floor(Math.log10(largest)) - Math.floor(Math.log10(step)) + 2;
  return Number.isFinite(digits) ? Math.max(least, Math.min(MOST_DIGITS, digits)) : least;
}

function minus(text: string): string {
  return text.replace(/^-/, '−');
}
