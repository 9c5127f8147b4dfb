/** The order of a table's rows by the values of a column. */

import { settingText } from './numbers.ts';

export type SortValue = number | string | null;

const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Rows in the order of their values; the sort is stable. */
export function ordered<Row>(
  rows: readonly Row[],
  value: (row: Row) => SortValue,
  descending: boolean
): Row[] {
  const keyed = rows.map(row => ({ row, value: value(row) }));
  keyed.sort((a, b) => compareValues(a.value, b.value, descending));
  return keyed.map(({ row }) => row);
}

/** The order of two values; missing values come last in either direction. */
export function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order =
    typeof a === 'number' && typeof b === 'number' ? a - b : COLLATOR.compare(String(a), String(b));
  return descending ? -order : order;
}

/** The value by which a setting is sorted. */
export function settingValue(value: unknown): SortValue {
  return value === null || value === undefined || typeof value === 'number'
    ? (value ?? null)
    : settingText(value) || null;
}
