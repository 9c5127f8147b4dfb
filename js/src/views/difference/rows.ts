/** The displayed rows of a difference. */

import type { Difference } from '../../shared/run-api.ts';

type Sections = Difference['sections'];

export interface ShownSection {
  readonly title: string;
  readonly rows: Sections[number]['rows'];
  /** Number of omitted rows that agree. */
  readonly same: number;
  readonly differ: number;
}

/**
 * The sections with the rows that differ, or with all; `search` keeps rows whose name or values contain it.
 */
export function shownSections(sections: Sections, all: boolean, search: string): readonly ShownSection[] {
  const text = search.trim().toLowerCase();
  return sections.map(({ title, rows }) => {
    const found = rows.filter(({ name, values }) =>
      [name, ...values].some(value => value.toLowerCase().includes(text))
    );
    const shown = all ? found : found.filter(({ same }) => !same);
    return {
      title,
      rows: shown,
      same: found.length - shown.length,
      differ: found.filter(({ same }) => !same).length
    };
  });
}

/** The chosen pair if both runs exist, otherwise the first two. */
export function pairOf(
  chosen: readonly [string, string] | null,
  runs: readonly string[]
): readonly [string, string] | null {
  if (chosen?.every(run => runs.includes(run))) return chosen;
  const [first, second] = runs;
  return first === undefined || second === undefined ? null : [first, second];
}
