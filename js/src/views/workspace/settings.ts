/** The settings of runs, their differences, and filtering by them. */

import { groupLabel, idEnd } from '../../shared/names.ts';
import { duration, number, settingText } from '../../shared/numbers.ts';
import { ordered, settingValue } from '../../shared/order.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trialName } from '../runs/run-text.ts';

/** Settings besides the hyperparameters; as `setting` in `mosaic_lab/overview/curves.py`. */
const COMMON = ['worker', 'algorithm', 'env', 'seed', 'group', 'total_steps'] as const;
type Common = (typeof COMMON)[number];

/** Numbers from `low` to `high`, or a set of values as text. */
export type Filter =
  | { readonly low: number | null; readonly high: number | null }
  | { readonly values: readonly string[] };
export type Filters = Readonly<Record<string, Filter>>;

/** Results by run, then by name. */
export type Results = Readonly<Record<string, Readonly<Record<string, number | null>>>>;

/** Results that every row has. */
export const ROW_RESULTS: Readonly<Record<string, (row: RunRow) => number | null>> = {
  last_return: row => row.last_return,
  best_return: row => row.best_return,
  duration: row => row.duration,
  speed: row => row.speed,
  step: row => row.step,
  episodes: row => row.episodes
};

export function setting(row: RunRow, name: string): unknown {
  if (name === 'group') return row.group === null ? null : groupLabel(row.group);
  return (COMMON as readonly string[]).includes(name) ? row[name as Common] : row.hyperparameters[name];
}

/** The names of all the runs' settings: the common ones, then hyperparameters by name. */
export function settingNames(rows: readonly RunRow[]): string[] {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row.hyperparameters)) names.add(name);
  for (const name of COMMON) names.delete(name);
  return [...COMMON, ...[...names].sort()];
}

/** The settings in which these runs differ; a setting that only some runs have counts as different. */
export function differing(rows: readonly RunRow[]): string[] {
  return settingNames(rows).filter(name => {
    const [first, ...otherTexts] = rows.map(row => JSON.stringify(setting(row, name) ?? null));
    return otherTexts.some(key => key !== first);
  });
}

/** The settings of which these runs have at least two values; runs without a value are ignored. */
export function varying(rows: readonly RunRow[]): string[] {
  return settingNames(rows).filter(name => {
    const values = rows.map(row => setting(row, name)).filter(value => value !== null && value !== undefined);
    return new Set(values.map(value => JSON.stringify(value))).size > 1;
  });
}

/** The settings for grouping: those with several values among the runs (no group is one), and the others. */
export interface GroupingNames {
  readonly varying: readonly string[];
  readonly others: readonly string[];
}

export function groupingNames(rows: readonly RunRow[]): GroupingNames {
  const several = new Set([...varying(rows), ...differing(rows).filter(name => name === 'group')]);
  const names = settingNames(rows);
  return {
    varying: names.filter(name => several.has(name)),
    others: names.filter(name => !several.has(name))
  };
}

/** The settings that always separate groups; as in `mosaic_lab/overview/curves.py`. */
const APART = ['worker', 'algorithm', 'env'];

/** The number of each run's group, from 0 for the oldest run's: a group has equal values of these settings. */
export function groupNumbers(
  rows: readonly RunRow[],
  groupBy: readonly string[]
): ReadonlyMap<string, number> {
  const names = [...APART, ...groupBy];
  const numbers = new Map<string, number>();
  const oldestFirst = ordered(rows, ({ id }) => id, false);
  return new Map(
    oldestFirst.map(row => {
      const key = JSON.stringify(names.map(name => setting(row, name) ?? null));
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return [row.id, number];
    })
  );
}

/** A result of a run by name: a field of its row, or the last value of a metric. */
export function result(row: RunRow, name: string, results: Results): number | null {
  const resultOf = ROW_RESULTS[name];
  return resultOf ? resultOf(row) : (results[row.id]?.[name] ?? null);
}

/** A setting or, if the run has no such setting, a result. */
export function valueNamed(row: RunRow, name: string, results: Results): unknown {
  return setting(row, name) ?? result(row, name, results);
}

/** A named result as text. */
export function resultText(name: string, value: number | null): string {
  return name === 'duration' ? duration(value) : number(value);
}

/** `valueNamed` as text. */
export function textNamed(row: RunRow, name: string, results: Results): string {
  const ownSetting = setting(row, name);
  return ownSetting === null || ownSetting === undefined
    ? resultText(name, result(row, name, results))
    : settingText(ownSetting);
}

/** Whether a run passes all filters. */
export function passes(row: RunRow, filters: Filters, results: Results): boolean {
  return Object.entries(filters).every(([name, filter]) => {
    const value = valueNamed(row, name, results);
    if ('values' in filter) return filter.values.includes(settingText(value));
    if (typeof value !== 'number') return false;
    return (filter.low === null || value >= filter.low) && (filter.high === null || value <= filter.high);
  });
}

/** Rows sorted by a column, those without a value last. */
export function sorted(
  rows: readonly RunRow[],
  sort: { readonly column: string; readonly descending: boolean } | null,
  results: Results
): readonly RunRow[] {
  if (!sort) return rows;
  const { column, descending } = sort;
  const value = (row: RunRow) => (column === 'name' ? row.name : valueNamed(row, column, results));
  return ordered(rows, row => settingValue(value(row)), descending);
}

/**
 * A name for each run: its own or, if it is resumed, its title (see `resumedTitles`), with the end of its id if
 * the name is not unique; if all are trials of one sweep, "trial 2".
 */
export function distinctNames(
  rows: readonly RunRow[],
  titles: ReadonlyMap<string, string>
): ReadonlyMap<string, string> {
  const areOfOneSweep = rows.every(({ parent }) => parent === rows[0]?.parent);
  const called = rows.map(row => ({
    id: row.id,
    name: (areOfOneSweep && trialName(row)) || titles.get(row.id) || row.name
  }));
  const counts = new Map<string, number>();
  for (const { name } of called) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    called.map(({ id, name }) => {
      const text = name || id;
      return [id, (counts.get(name) ?? 0) > 1 ? `${text} ${idEnd(id)}` : text];
    })
  );
}
