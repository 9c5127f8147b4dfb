/** Which rows of a difference are shown. */

import type { Difference } from '../../shared/run-api.ts';

type Sections = Difference['sections'];

export interface ShownSection {
  readonly title: string;
  readonly rows: Sections[number]['rows'];
  /** Rows that agree and are left out. */
  readonly same: number;
  readonly differ: number;
}

/** The sections with the rows that differ, or with all; `search` leaves those whose name or values have it. */
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

/** The pair that was chosen as far as its runs are there, else the first ones. */
export function pairOf(
  chosen: readonly [string, string] | null,
  runs: readonly string[]
): readonly [string, string] | null {
  if (chosen?.every(run => runs.includes(run))) return chosen;
  const [first, second] = runs;
  return first === undefined || second === undefined ? null : [first, second];
}
