/** Short descriptions of runs: the second row of a narrow line, and the summary of a group. */

import { duration, whole } from '../../shared/numbers.ts';
import { isBackground, type RunRow, type RunState } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import type { RunEntry } from './run-rows.ts';
import { ageText, durationOf, outcomeText, progressText, speedText, stateText } from './run-text.ts';

/** The states, the most informative of a group first. */
export const STATES: readonly RunState[] = [
  'running',
  'starting',
  'stopping',
  'queued',
  'failed',
  'lost',
  'cancelled',
  'completed'
];

/** The main facts of a run beside its name and return: "running · 45% · 1,200/s". */
export function runSummary(row: RunRow, now: number): string {
  const about = [row.algorithm, row.env].filter(text => text !== null && !includes(row.name, text));
  const worked = durationOf(row, now);
  const facts = row.alive
    ? [
        stateText(row.state),
        progressText(row),
        row.speed === null ? '' : trans.__('%1/s', speedText(row.speed))
      ]
    : [
        row.state === 'failed' || row.state === 'lost'
          ? `${stateText(row.state)}: ${row.reason.replace(/^exited with code \d+: /, '')}`
          : outcomeText(row),
        worked === null ? '' : duration(worked),
        ageText(row.created, now)
      ];
  return [...about, ...facts].filter(Boolean).join(' · ');
}

/** Whether an entry counts as a run: all but comparisons, and runs that work for a training. */
export function isRun({ row }: RunEntry): boolean {
  return row.kind !== 'comparison' && !isBackground(row.kind);
}

/** The numbers of entries of a table. */
export interface Counts {
  readonly runs: number;
  readonly films: number;
  readonly comparisons: number;
  /** The runs that pass the filter. */
  readonly matching: number;
  /** Live runs and comparisons. */
  readonly alive: number;
}

/** "5 runs, 3 films, 1 comparison, 2 alive", or "2 of 5 runs" if a filter omits some. */
export function countsText({ runs, films, comparisons, matching, alive }: Counts): string {
  if (matching < runs) {
    return trans.__('%1 of %2 runs', whole(matching), whole(runs));
  }
  return [
    trans._n('%2 run', '%2 runs', runs, whole(runs)),
    films && trans._n('%2 film', '%2 films', films, whole(films)),
    comparisons && trans._n('%2 comparison', '%2 comparisons', comparisons, whole(comparisons)),
    alive && trans.__('%1 alive', whole(alive))
  ]
    .filter(Boolean)
    .join(', ');
}

/** The number of listed runs of a store: "3 runs". */
export function storeSummary(members: readonly RunEntry[]): string {
  const count = members.filter(isRun).length;
  return count === 1 ? trans.__('1 run') : trans.__('%1 runs', whole(count));
}

/** The number of a group's runs by state: "2 running, 3 completed". */
export function groupSummary(members: readonly RunEntry[]): string {
  return stateCounts(members)
    .map(([state, count]) => `${whole(count)} ${stateText(state)}`)
    .join(', ');
}

/** The most informative state of a group: that of a live run, otherwise the worst. */
export function groupState(members: readonly RunEntry[]): RunState {
  return stateCounts(members)[0]?.[0] ?? 'completed';
}

/** The mean of the runs' values; null if there are none. */
export function meanOf(
  members: readonly RunEntry[],
  field: 'last_return' | 'best_return' | 'progress'
): number | null {
  const values = members.map(({ row }) => row[field]).filter(value => value !== null);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

/** The common value of a group's runs, if any. */
export function shared(members: readonly RunEntry[], field: 'worker' | 'algorithm' | 'env'): string | null {
  const first = members[0]?.row[field] ?? null;
  return members.every(({ row }) => row[field] === first) ? first : null;
}

function stateCounts(members: readonly RunEntry[]): [RunState, number][] {
  const counts = new Map<RunState, number>();
  for (const { row } of members) {
    counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
  }
  return STATES.flatMap(state => (counts.has(state) ? [[state, counts.get(state) as number]] : []));
}

function includes(name: string, part: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}
