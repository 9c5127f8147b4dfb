/** Columns that are never cut at the edge of a table. */

/**
 * The width of a flexible column besides which the widths of the others, in order, end at the edge of the room:
 * as many as fit beside its least width.
 */
export function fittingWidth(room: number, others: readonly number[], least: number): number {
  let used = 0;
  for (const width of others) {
    if (used + width > room - least) break;
    used += width;
  }
  return Math.max(least, room - used);
}
