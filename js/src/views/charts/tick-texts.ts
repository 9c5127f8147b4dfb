/** The labels of axes, and positions on them in words. */

import { duration, number, UNITS, whole } from '../../shared/numbers.ts';

/** The labels of an axis' ticks, all with the same unit and enough digits to distinguish them. */
export function tickTexts(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  const [unit, letter] = UNITS.find(([size]) => largest >= 10 * size) ?? [1, ''];
  const least = Math.abs(step) / unit;
  if (largest > 0 && largest < 1e-3) return ticks.map(tick => (tick === null ? '' : number(tick)));
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
  return ticks.map(tick => {
    if (tick === null) return '';
    if (tick < 1e-3 || tick >= 1e15) {
      return Number(tick.toPrecision(6)).toExponential().replace('e+', 'e');
    }
    const [unit, letter] = (tick >= 1e4 && UNITS.find(([size]) => tick >= size)) || [1, ''];
    return `${(tick / unit).toLocaleString('en-US', { maximumSignificantDigits: 6 })}${letter}`;
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
  const inSeconds = Math.max(...ticks.map(tick => Math.abs(tick ?? 0))) < 60;
  if (inSeconds) return tickTexts(ticks, step).map(text => (text === '' || text === '0' ? text : `${text}s`));
  return ticks.map(tick => (tick ? duration(tick).replace(/ 0+[a-z]+$/, '') : tick === null ? '' : '0'));
}

function minus(text: string): string {
  return text.replace(/^-/, '−');
}
