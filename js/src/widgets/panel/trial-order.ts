/** The order of a table's rows by one of its columns. */

import type { TrialCell } from '../messages.ts';

export interface Order {
  column: number;
  descending: boolean;
}

/** The rows in order; those without a key come last in either direction. */
export function sorted(rows: readonly TrialCell[][], { column, descending }: Order): TrialCell[][] {
  const way = descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [one[column]?.key ?? null, other[column]?.key ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    if (typeof a === 'number' && typeof b === 'number') return way * (a - b);
    return way * String(a).localeCompare(String(b));
  });
}
