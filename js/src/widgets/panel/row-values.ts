/** The values in one row of a chart with a categorical y axis: points, and parts of lines. */

import { fineNumber } from '../../shared/numbers.ts';
import type { ChartLine } from '../../views/charts/lines.ts';

export interface RowValue {
  readonly line: ChartLine;
  /** The same number twice for a point. */
  readonly low: number;
  readonly high: number;
}

/** The values of lines in a row, those with a point nearest to `x` first. */
export function valuesInRow(lines: readonly ChartLine[], row: number, x: number): RowValue[] {
  const found: RowValue[] = [];
  for (const line of lines) {
    const there = line.data.x.filter((value, i) => line.data.y[i] === row && Number.isFinite(value));
    if (there.length) found.push({ line, low: Math.min(...there), high: Math.max(...there) });
  }
  const distance = ({ low, high }: RowValue) => Math.min(Math.abs(low - x), Math.abs(high - x));
  return found.sort((a, b) => distance(a) - distance(b));
}

export function rowText({ low, high }: RowValue): string {
  return low === high ? fineNumber(low) : `${fineNumber(low)} to ${fineNumber(high)}`;
}
