/** The names of runs in a selection: names, with a distinction between equal ones. */

import { withoutWords, wordsAlike } from '../../shared/names.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

/**
 * A name for each run, in order, without the words shared by all names with a seed: a selection has limited
 * space. Runs with the same name get their seeds or, if these are equal, the ends of their ids.
 */
export function choiceNames(rows: readonly RunRow[], names: ReadonlyMap<string, string>): string[] {
  const plain = rows.map(({ id, name }) => names.get(id) ?? name);
  const seeded = rows.map(({ seed }, place) =>
    seed === null || (plain[place] as string).includes(`seed ${seed}`)
      ? (plain[place] as string)
      : trans.__('%1, seed %2', plain[place] as string, seed)
  );
  const first = plain.map((name, place) => (isUnique(plain, name) ? name : (seeded[place] as string)));
  const distinct = first.map((name, place) =>
    isUnique(first, name) ? name : `${name} (${(rows[place] as RunRow).id.slice(-4)})`
  );
  const alike = wordsAlike(distinct);
  return distinct.map(name => withoutWords(name, alike));
}

function isUnique(names: readonly string[], name: string): boolean {
  return names.indexOf(name) === names.lastIndexOf(name);
}
