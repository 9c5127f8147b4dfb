/** Formatted numbers, consistent with the kernel's `mosaic_lab/number_format.py`. */

const DASH = '–';
const EXACT = 30; // decimals

export const UNITS: readonly [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k']
];

/** By number of decimals; creating a format takes far longer than using it. */
const FORMATS = [...Array(11).keys()].map(
  digits => new Intl.NumberFormat('en-US', { maximumFractionDigits: digits, roundingMode: 'halfEven' })
);

type Value = number | null | undefined;

/** Three significant digits, or all of counts below 10,000: "1.2M", "9,999", "0.0025", "1.5e-07". */
export function number(value: Value, digits = 3): string {
  return special(value) ?? minus(value as number, short(Math.abs(value as number), digits));
}

/** Four significant digits without units, for numbers close to each other. */
export function fineNumber(value: Value): string {
  return special(value) ?? minus(value as number, fine(Math.abs(value as number)));
}

/** "12,345". */
export function integerText(value: Value): string {
  return special(value) ?? minus(value as number, formatted(Math.abs(value as number), 0));
}

/** A setting as in code, with six digits and separators: "0.0003", "2.5e-05", "1,024"; or a dash. */
export function settingText(value: unknown): string {
  if (value === undefined || value === null) return DASH;
  if (typeof value === 'number') return special(value) ?? minus(value, exact(Math.abs(value)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The two largest units: "0.8s", "42s", "3m 20s", "1h 05m", "2d 03h". */
export function duration(seconds: Value): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return DASH;
  const size = Math.max(seconds, 0);
  const all = Math.round(size);
  if (size < 9.95) return `${size.toFixed(1)}s`;
  if (all < 60) return `${all}s`;
  if (all < 3600) return pair(all / 60, 'm', all % 60, 's');
  if (all < 86_400) return pair(all / 3600, 'h', (all % 3600) / 60, 'm');
  return pair(all / 86_400, 'd', (all % 86_400) / 3600, 'h');
}

/** A latency: "4.2 ms", "870 ms", "1.3s", "12s"; or a dash. */
export function milliseconds(value: Value): string {
  if (value === null || value === undefined || !(value < 999.5)) return duration(value && value / 1000);
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

/** A fraction with two decimals: "0.60". */
export function share(value: number): string {
  return value.toFixed(2);
}

function pair(large: number, unit: string, small: number, part: string): string {
  return `${Math.floor(large)}${unit} ${String(Math.floor(small)).padStart(2, '0')}${part}`;
}

/** The text for a value without digits. */
function special(value: Value): string | null {
  if (value === null || value === undefined || Number.isNaN(value)) return DASH;
  return Number.isFinite(value) ? null : minus(value, '∞');
}

function minus(value: number, size: string): string {
  return value < 0 ? `−${size}` : size;
}

/** Rounded from the exact value, as in Python: 0.5685 is slightly more than that. `format` would round its shortest text. */
function formatted(size: number, digits: number): string {
  const exact = size.toFixed(EXACT) as Intl.StringNumericLiteral;
  return (FORMATS[Math.min(digits, FORMATS.length - 1)] as Intl.NumberFormat).format(exact);
}

function short(size: number, digits: number): string {
  if (size >= 9999.5) {
    const unit = UNITS.find(([threshold]) => size >= 0.9995 * threshold);
    if (unit) return `${significant(size / unit[0], digits)}${unit[1]}`;
  }
  if (Number.isInteger(size)) return formatted(size, 0);
  return size < 1e-3 ? withExponent(size, digits - 2) : significant(size, digits);
}

function fine(size: number): string {
  if (size !== 0 && size < 1e-3) return withExponent(Number(size.toPrecision(3)));
  return size >= 1000 ? formatted(size, 0) : significant(size, 4);
}

function exact(size: number): string {
  if (Number.isInteger(size)) return formatted(size, 0);
  const rounded = Number(size.toPrecision(6));
  return rounded < 1e-4 ? withExponent(rounded) : formatted(rounded, 9);
}

/** This many significant digits without an exponent and without trailing zeros. */
function significant(size: number, digits: number): string {
  return formatted(size, size ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : 0);
}

/** In Python's notation: "1.5e-07". */
function withExponent(size: number, digits?: number): string {
  return size.toExponential(digits).replace(/e([+-])(\d)$/, 'e$10$2');
}
