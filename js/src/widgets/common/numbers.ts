/** Numbers as people read them. What is not finite comes from the kernel as text, and is shown as it is. */

/** By digits after the point; made once, as `toLocaleString` makes one for each number that it writes. */
const FORMATS = [0, 1, 2, 3].map(
  places => new Intl.NumberFormat('en-US', { maximumFractionDigits: places })
) as [Intl.NumberFormat, Intl.NumberFormat, Intl.NumberFormat, Intl.NumberFormat];

/** A whole number with separators: "12,345"; empty for none. */
export function count(value: number | string | null | undefined): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : (value ?? '');
}

/** Three significant digits, without an exponent where people would not write one; empty for none. */
export function short(value: number | string | null | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  const size = Math.abs(value);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const exponent = size >= 1e6 || (size > 0 && size < 1e-3);
  const text = exponent ? value.toExponential(1) : FORMATS[places].format(value);
  return text.replace(/^-/, '−');
}

/** A share of one with two digits: "0.60". */
export function share(value: number): string {
  return value.toFixed(2);
}
