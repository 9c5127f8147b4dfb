/** What the runs to choose from are called: names, with what distinguishes equal ones. */

import type { RunRow } from '../../shared/run-api.ts';
import type { Translation } from '../translation.ts';

/** A name for each run, in order; runs of one name get their seeds or, where these are equal, their ids' ends. */
export function choiceNames(
  rows: readonly RunRow[],
  names: ReadonlyMap<string, string>,
  trans: Translation
): string[] {
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
  return withoutShared(distinct);
}

/** The names without the words that all begin with: what distinguishes them is seen where there is little room. */
function withoutShared(names: readonly string[]): string[] {
  const words = names.map(name => name.split(' '));
  const [first = []] = words;
  const differs = first.findIndex((word, place) => words.some(other => other[place] !== word));
  const end = first[differs - 1] === 'seed' ? differs - 1 : differs;
  const rest = words.map(each => each.slice(Math.max(0, end)).join(' '));
  return rest.every(name => name !== '') ? rest : [...names];
}

function isUnique(names: readonly string[], name: string): boolean {
  return names.indexOf(name) === names.lastIndexOf(name);
}
