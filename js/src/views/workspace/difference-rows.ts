/** The displayed rows of a difference, and the names of the runs to choose from. */

import { withoutWords, wordsAlike } from '../../shared/names.ts';
import type { Difference, RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

type Sections = Difference['sections'];

interface ShownSection {
  readonly title: string;
  readonly rows: Sections[number]['rows'];
  /** Number of omitted rows that agree. */
  readonly same: number;
  readonly differ: number;
}

/** The sections with the rows that differ, or with all, whose name or values contain `search`. */
export function shownSections(sections: Sections, all: boolean, search: string): readonly ShownSection[] {
  const text = search.trim().toLowerCase();
  return sections.map(({ title, rows }) => {
    const matches = rows.filter(({ name, values }) =>
      [name, ...values].some(value => value.toLowerCase().includes(text))
    );
    const visible = all ? matches : matches.filter(({ same }) => !same);
    return {
      title,
      rows: visible,
      same: matches.length - visible.length,
      differ: matches.filter(({ same }) => !same).length
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

/**
 * A name for each run, in order, without the words shared by all names with a seed: a selection has limited
 * space. Runs with the same name get their seeds or, if these are equal, the ends of their ids.
 */
export function choiceNames(rows: readonly RunRow[], names: ReadonlyMap<string, string>): string[] {
  const plain = rows.map(({ id, name }) => names.get(id) ?? name);
  const seeded = rows.map(({ seed }, index) =>
    seed === null || (plain[index] as string).includes(`seed ${seed}`)
      ? (plain[index] as string)
      : trans.__('%1, seed %2', plain[index] as string, seed)
  );
  const first = plain.map((name, index) => (isUnique(plain, name) ? name : (seeded[index] as string)));
  const distinct = first.map((name, index) =>
    isUnique(first, name) ? name : `${name} (${(rows[index] as RunRow).id.slice(-4)})`
  );
  const common = wordsAlike(distinct);
  return distinct.map(name => withoutWords(name, common));
}

function isUnique(names: readonly string[], name: string): boolean {
  return names.indexOf(name) === names.lastIndexOf(name);
}
