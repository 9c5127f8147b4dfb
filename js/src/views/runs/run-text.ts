/** Runs as text: fields, short descriptions of runs and groups, sparklines. */

import { duration, integerText, number } from '../../shared/numbers.ts';
import { isBackground, type RunRow, type RunState } from '../../shared/run-api.ts';
import type { RunEntry } from '../../shared/run-source.ts';
import { trans } from '../translation.ts';

export function stateText(state: RunState): string {
  const texts: Record<RunState, string> = {
    queued: trans.__('queued'),
    starting: trans.__('starting'),
    running: trans.__('running'),
    stopping: trans.__('stopping'),
    completed: trans.__('completed'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled'),
    lost: trans.__('lost')
  };
  return texts[state];
}

export function kindText(kind: RunRow['kind']): string {
  const texts: Record<RunRow['kind'], string> = {
    training: trans.__('training'),
    evaluation: trans.__('evaluation'),
    comparison: trans.__('comparison'),
    sweep: trans.__('sweep'),
    films: trans.__('films'),
    'checkpoint evaluation': trans.__('evaluation of checkpoints'),
    server: trans.__('server'),
    script: trans.__('script')
  };
  return texts[kind];
}

/**
 * The short name of a trial within its sweep, such as "trial 2", with its seed if there are several, or of a
 * stage within its curriculum, such as "stage 2"; otherwise null.
 */
export function trialName({ name, label, kind, parent, group }: RunRow): string | null {
  if (parent === null || isBackground(kind) || name !== label) return null;
  const [suffix] = /\b(?:trial \d+.*|stage \d+)$/.exec(label) ?? [];
  return suffix === undefined ? null : group === null ? suffix.replace(/ seed \d+$/, '') : suffix;
}

/** Steps per second: in whole numbers, unless the environment is slow. */
export function speedText(speed: number): string {
  return number(speed < 10 ? speed : Math.round(speed));
}

/** The state of a run; for a trial stopped by its sweep's pruner, "pruned at step 222". */
export function outcomeText(row: RunRow): string {
  const [, step] = /^stopped on request: pruned at step ([\d,]+)/.exec(row.reason) ?? [];
  return step === undefined ? stateText(row.state) : trans.__('pruned at step %1', step);
}

/** Seconds that a run has worked, over all its sessions; for a live run until `now` (Unix seconds). */
export function durationOf(row: RunRow, now: number): number | null {
  return row.alive && row.started !== null
    ? row.earlier_seconds + Math.max(0, now - row.started)
    : row.duration;
}

/** "3m", "5h", "12d": a rough age. */
export function ageText(time: number | null, now: number): string {
  if (time === null) return '';
  const seconds = Math.max(0, now - time);
  if (seconds < 60) return trans.__('now');
  if (seconds < 3600) return trans.__('%1m', Math.floor(seconds / 60));
  return seconds < 172_800
    ? trans.__('%1h', Math.floor(seconds / 3600))
    : trans.__('%1d', Math.floor(seconds / 86_400));
}

/** "45%", for a sweep "12 of 40 trials", or the progress alone if the total is unknown. */
export function progressText(row: RunRow): string {
  if (row.total_trials !== null && row.trials !== null) {
    const done = integerText(row.trials);
    const total = integerText(row.total_trials);
    return row.segmented
      ? trans.__('%1 of %2 segments', done, total)
      : trans.__('%1 of %2 trials', done, total);
  }
  if (row.progress !== null && row.state !== 'completed') return `${integerText(100 * row.progress)}%`;
  if (row.total_episodes !== null && row.episodes !== null) {
    return trans._n('%1 episode', '%1 episodes', row.episodes);
  }
  if (row.step === null || (row.step === 0 && row.total_steps === null)) return '';
  return row.total_steps === row.requested_steps
    ? number(row.step)
    : trans.__('%1 (%2 requested)', integerText(row.step), integerText(row.requested_steps));
}

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
  const details = [row.algorithm, row.env].filter(text => text !== null && !includes(row.name, text));
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
  return [...details, ...facts].filter(Boolean).join(' · ');
}

/** Whether an entry counts as a run: all but comparisons, and runs that work for a training. */
export function isRun({ row }: RunEntry): boolean {
  return row.kind !== 'comparison' && !isBackground(row.kind);
}

/** The numbers of entries of a table. */
export interface Counts {
  readonly runs: number;
  readonly films: number;
  /** Evaluations of a training's checkpoints; others count as runs. */
  readonly evaluations: number;
  readonly comparisons: number;
  /** The runs that pass the filter. */
  readonly matching: number;
  /** Live runs of every kind, also those that work for a training. */
  readonly alive: number;
}

/** "5 runs, 3 films, 1 comparison, 2 alive", or "2 of 5 runs" if a filter omits some. */
export function countsText({ runs, films, evaluations, comparisons, matching, alive }: Counts): string {
  if (matching < runs) return trans.__('%1 of %2 runs', integerText(matching), integerText(runs));
  return [
    trans._n('%2 run', '%2 runs', runs, integerText(runs)),
    films && trans._n('%2 film', '%2 films', films, integerText(films)),
    evaluations &&
      trans._n(
        '%2 evaluation of checkpoints',
        '%2 evaluations of checkpoints',
        evaluations,
        integerText(evaluations)
      ),
    comparisons && trans._n('%2 comparison', '%2 comparisons', comparisons, integerText(comparisons)),
    alive && trans.__('%1 alive', integerText(alive))
  ]
    .filter(Boolean)
    .join(', ');
}

/** The number of listed runs of a store: "3 runs". */
export function storeSummary(members: readonly RunEntry[]): string {
  const count = members.filter(isRun).length;
  return count === 1 ? trans.__('1 run') : trans.__('%1 runs', integerText(count));
}

/** The number of a group's runs by state: "2 running, 3 completed". */
export function groupSummary(members: readonly RunEntry[]): string {
  return stateCounts(members)
    .map(([state, count]) => `${integerText(count)} ${stateText(state)}`)
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
  for (const { row } of members) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
  return STATES.flatMap(state => (counts.has(state) ? [[state, counts.get(state) as number]] : []));
}

function includes(name: string, part: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}

/** The path of a sparkline with a margin of one pixel; a constant series runs through the middle. */
export function sparklinePath(values: readonly number[], width: number, height: number): string {
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  const step = (width - 2) / (values.length - 1);
  return values
    .map((value, index) => {
      const share = range > 0 ? (value - low) / range : 0.5;
      return `${index ? 'L' : 'M'}${(1 + index * step).toFixed(1)} ${(height - 1 - share * (height - 2)).toFixed(1)}`;
    })
    .join('');
}
