/** How the fields of a run read. */

import type { RunRow, RunState } from '../../shared/run-api.ts';
import { short } from '../../widgets/common/numbers.ts';
import type { Translation } from '../translation.ts';

/** Made once: `toLocaleString` makes one for each number that it writes. */
const NUMBERS = new Intl.NumberFormat('en-US');

/** A sign for each state: its colour alone would not be seen by everybody. */
export const STATE_SIGNS: Readonly<Record<RunState, string>> = {
  queued: '◌',
  starting: '◔',
  running: '▶',
  stopping: '◑',
  completed: '✓',
  failed: '✕',
  cancelled: '■',
  lost: '?'
};

export function stateText(state: RunState, trans: Translation): string {
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

export function kindText(kind: RunRow['kind'], trans: Translation): string {
  const texts: Record<RunRow['kind'], string> = {
    training: trans.__('training'),
    evaluation: trans.__('evaluation'),
    comparison: trans.__('comparison'),
    sweep: trans.__('sweep'),
    films: trans.__('films'),
    script: trans.__('script')
  };
  return texts[kind];
}

/**
 * What distinguishes a trial's run within its sweep: "trial 2", with its seed where there are several, or a stage's within its
 * curriculum: "stage 2"; else null.
 */
export function trialName({ name, label, kind, parent, group }: RunRow): string | null {
  if (parent === null || kind === 'films' || name !== label) {
    return null;
  }
  const [found] = /\b(?:trial \d+.*|stage \d+)$/.exec(label) ?? [];
  return found === undefined ? null : group === null ? found.replace(/ seed \d+$/, '') : found;
}

/** The state of a run, of a trial that was stopped by its sweep's pruner "pruned at step 222". */
export function outcomeText(row: RunRow, trans: Translation): string {
  const [, step] = /^stopped on request: pruned at step ([\d,]+)/.exec(row.reason) ?? [];
  return step === undefined ? stateText(row.state, trans) : trans.__('pruned at step %1', step);
}

/** "1,234". */
export function wholeText(count: number): string {
  return NUMBERS.format(count);
}

/** "0:01:30", "2:04:00", "3 d 4 h". */
export function durationText(seconds: number | null): string {
  if (seconds === null) {
    return '';
  }
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  if (hours >= 48) {
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }
  const two = (value: number) => String(value).padStart(2, '0');
  return `${hours}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** Seconds that a run has worked: of a live one until `now` (Unix seconds). */
export function durationOf(row: RunRow, now: number): number | null {
  return row.alive && row.started !== null ? Math.max(0, now - row.started) : row.duration;
}

/** "3 min", "5 h", "12 d": how long ago, roughly. */
export function ageText(then: number | null, now: number, trans: Translation): string {
  if (then === null) {
    return '';
  }
  const seconds = Math.max(0, now - then);
  if (seconds < 60) {
    return trans.__('now');
  }
  if (seconds < 3600) {
    return trans.__('%1 min', Math.floor(seconds / 60));
  }
  return seconds < 172_800
    ? trans.__('%1 h', Math.floor(seconds / 3600))
    : trans.__('%1 d', Math.floor(seconds / 86_400));
}

/** "45%", of a sweep "12 of 40 trials", or how far it is where no end is known. */
export function progressText(row: RunRow, trans: Translation): string {
  if (row.total_trials !== null && row.trials !== null) {
    const done = NUMBERS.format(row.trials);
    const total = NUMBERS.format(row.total_trials);
    return row.segmented
      ? trans.__('%1 of %2 segments', done, total)
      : trans.__('%1 of %2 trials', done, total);
  }
  if (row.progress !== null && row.state !== 'completed') {
    return `${Math.floor(row.progress * 100)}%`;
  }
  if (row.total_episodes !== null && row.episodes !== null) {
    return trans._n('%1 episode', '%1 episodes', row.episodes);
  }
  return row.step === null ? '' : countText(row.step);
}

/** "950", "12k", "1.5M". */
export function countText(count: number | null): string {
  if (count === null) {
    return '';
  }
  if (count >= 999_500) {
    return `${NUMBERS.format(Number((count / 1e6).toPrecision(3)))}M`;
  }
  return count >= 10_000 ? `${Math.round(count / 1000)}k` : NUMBERS.format(count);
}

export function returnText(value: number | null): string {
  return short(value);
}

/** A hyperparameter's value in one line. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  if (typeof value === 'number') {
    return Number.isInteger(value) ? NUMBERS.format(value) : String(value);
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
