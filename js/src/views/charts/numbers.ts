/** Numbers of axes and of values under the pointer. */

import { short } from '../../widgets/common/numbers.ts';

export const UNITS: readonly [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k']
];

/** By the number of digits after the point; making one takes far longer than using it. */
const FORMATS = [...Array(8).keys()].map(
  digits => new Intl.NumberFormat('en-US', { maximumFractionDigits: digits })
);

/** A value as it stands in a table or beside the pointer: four significant digits. */
export function valueText(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (!Number.isFinite(value)) return String(value).replace('-', '−');
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7))
    return minus(
      value
        .toExponential(2)
        .replace(/\.?0+e/, 'e')
        .replace('e+', 'e')
    );
  const digits = size >= 1000 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(size || 1)));
  return minus((FORMATS[digits] as Intl.NumberFormat).format(value));
}

/** The labels of an axis' ticks, all with the same unit and as many digits as distinguish them. */
export function tickTexts(ticks: readonly (number | null)[], step: number): string[] {
  const largest = Math.max(...ticks.map(tick => Math.abs(tick ?? 0)));
  const [unit, letter] = UNITS.find(([size]) => largest >= 10 * size) ?? [1, ''];
  const least = Math.abs(step) / unit;
  if (largest > 0 && largest < 1e-3) return ticks.map(tick => (tick === null ? '' : short(tick)));
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

/** The labels of a logarithmic axis, each with a unit of its own: "100", "1,000", "10k", "1M". */
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

/** A place on the x axis of this kind, in words. */
export function placeText(value: number, axis: 'step' | 'episode' | 'time' | 'relative'): string {
  if (axis === 'time') {
    return new Date(1000 * value).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' });
  }
  if (axis === 'relative') return durationText(value);
  return Math.round(value).toLocaleString('en-US');
}

/** The two largest units: "42 s", "3 min 20 s", "1 h 05 min", "2 d 03 h". */
export function durationText(seconds: number): string {
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < 10) return `${sign}${size.toFixed(size < 1 ? 2 : 1)} s`;
  const whole = Math.round(size);
  const pair = (large: number, unit: string, small: number, part: string) =>
    `${sign}${large} ${unit}${small ? ` ${String(small).padStart(2, '0')} ${part}` : ''}`;
  if (whole < 60) return `${sign}${whole} s`;
  if (whole < 3600) return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  if (whole < 86_400) return pair(Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min');
  return pair(Math.floor(whole / 86_400), 'd', Math.floor((whole % 86_400) / 3600), 'h');
}

function minus(text: string): string {
  return text.replace(/^-/, '−');
}
