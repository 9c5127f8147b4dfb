/** The columns of the table of runs: text, sort order and alignment. */

import { duration, number, settingText } from '../../shared/numbers.ts';
import { type SortValue, settingValue } from '../../shared/order.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import { ageText, durationOf, outcomeText, progressText, speedText } from './run-text.ts';

export interface Column {
  readonly id: string;
  readonly title: string;
  /** An explanation of the numbers, if the title is not sufficient. */
  readonly hint?: string;
  /** Initial width in pixels. */
  readonly width: number;
  readonly numeric?: boolean;
  text(row: RunRow, now: number): string;
  sort(row: RunRow, now: number): SortValue;
}

export const HYPERPARAMETER = 'hyperparameter:';

/** The columns shown initially; `name` is always shown. */
export const DEFAULT_COLUMNS: readonly string[] = [
  'state',
  'name',
  'tags',
  'progress',
  'speed',
  'last_return',
  'best_return',
  'sparkline',
  'duration',
  'age'
];

export function standardColumns(): Column[] {
  return [
    { ...column('state', trans.__('State'), 112, row => row.state), text: outcomeText },
    column('name', trans.__('Name'), 240, row => row.name),
    column('worker', trans.__('Worker'), 80, row => row.worker),
    column('algorithm', trans.__('Algorithm'), 80, row => row.algorithm),
    column('env', trans.__('Environment'), 130, row => row.env),
    { ...column('seed', trans.__('Seed'), 50, row => row.seed), numeric: true },
    column('continues', trans.__('Continues'), 200, row => row.continues),
    column('tags', trans.__('Tags'), 110, row => row.tags.join(', ') || null),
    { ...column('progress', trans.__('Progress'), 220, row => row.progress), text: progressText },
    {
      ...column<number>('speed', trans.__('Steps/s'), 70, row => row.speed, speedText),
      hint: trans.__('Of live runs over the last 12 seconds, of ended runs over the whole duration'),
      numeric: true
    },
    {
      ...column<number>('last_return', trans.__('Last return'), 98, row => row.last_return, number),
      hint: trans.__('The mean of the last 20 episodes'),
      numeric: true
    },
    {
      ...column<number>('best_return', trans.__('Best return'), 98, row => row.best_return, number),
      hint: trans.__('The best mean over 20 consecutive episodes'),
      numeric: true
    },
    column<number>('sparkline', trans.__('Return'), 90, row => row.sparkline.at(-1), number),
    { ...column<number>('duration', trans.__('Duration'), 76, durationOf, duration), numeric: true },
    {
      ...column('age', trans.__('Age'), 60, row => row.created && -row.created),
      numeric: true,
      text: (row, now) => ageText(row.created, now)
    }
  ];
}

/** A column for each hyperparameter of any run, by name. */
export function hyperparameterColumns(rows: Iterable<RunRow>): Column[] {
  const names = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(row.hyperparameters)) names.add(name);
  }
  return [...names].sort().map(name => ({
    ...column(`${HYPERPARAMETER}${name}`, name, 100, row => settingValue(row.hyperparameters[name])),
    numeric: true,
    text: row => (row.hyperparameters[name] == null ? '' : settingText(row.hyperparameters[name]))
  }));
}

/** A column of values, sorted by these; empty for runs without one. */
function column<Value extends number | string>(
  id: string,
  title: string,
  width: number,
  value: (row: RunRow, now: number) => Value | null | undefined,
  format: (value: Value) => string = String
): Column {
  return {
    id,
    title,
    width,
    text: (row, now) => {
      const cell = value(row, now);
      return cell === null || cell === undefined ? '' : format(cell);
    },
    sort: (row, now) => value(row, now) ?? null
  };
}
