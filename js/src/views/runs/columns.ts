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
  const plain = (id: string, title: string, width: number, field: (row: RunRow) => SortValue): Column => ({
    id,
    title,
    width,
    text: row => String(field(row) ?? ''),
    sort: field
  });
  return [
    {
      id: 'state',
      title: trans.__('State'),
      width: 112,
      text: row => outcomeText(row),
      sort: row => row.state
    },
    { id: 'name', title: trans.__('Name'), width: 240, text: row => row.name, sort: row => row.name },
    plain('worker', trans.__('Worker'), 80, row => row.worker),
    plain('algorithm', trans.__('Algorithm'), 80, row => row.algorithm),
    plain('env', trans.__('Environment'), 130, row => row.env),
    { ...plain('seed', trans.__('Seed'), 50, row => row.seed), numeric: true },
    plain('continues', trans.__('Continues'), 200, row => row.continues),
    plain('tags', trans.__('Tags'), 110, row => row.tags.join(', ') || null),
    {
      id: 'progress',
      title: trans.__('Progress'),
      width: 220,
      text: row => progressText(row),
      sort: row => row.progress
    },
    {
      id: 'speed',
      title: trans.__('Steps/s'),
      hint: trans.__('Of a live run over the last 12 seconds, afterwards over its whole duration'),
      width: 70,
      numeric: true,
      text: row => shown(row.speed, speedText),
      sort: row => row.speed
    },
    {
      id: 'last_return',
      title: trans.__('Last return'),
      hint: trans.__('The mean of the last 20 episodes'),
      width: 98,
      numeric: true,
      text: row => shown(row.last_return, number),
      sort: row => row.last_return
    },
    {
      id: 'best_return',
      title: trans.__('Best return'),
      hint: trans.__('The best mean over 20 consecutive episodes'),
      width: 98,
      numeric: true,
      text: row => shown(row.best_return, number),
      sort: row => row.best_return
    },
    {
      id: 'sparkline',
      title: trans.__('Return'),
      width: 90,
      text: row => shown(row.sparkline.at(-1), number),
      sort: row => row.sparkline.at(-1) ?? null
    },
    {
      id: 'duration',
      title: trans.__('Duration'),
      width: 76,
      numeric: true,
      text: (row, now) => shown(durationOf(row, now), duration),
      sort: durationOf
    },
    {
      id: 'age',
      title: trans.__('Age'),
      width: 60,
      numeric: true,
      text: (row, now) => ageText(row.created, now),
      sort: row => (row.created === null ? null : -row.created)
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
    id: `${HYPERPARAMETER}${name}`,
    title: name,
    width: 100,
    numeric: true,
    text: row => shown(row.hyperparameters[name], settingText),
    sort: row => settingValue(row.hyperparameters[name])
  }));
}

/** The text of a value; empty if the run has none. */
function shown<Value>(value: Value | null | undefined, text: (value: Value) => string): string {
  return value === null || value === undefined ? '' : text(value);
}
