/** The fields of a run as text. */

import { number, whole } from '../../shared/numbers.ts';
import { isBackground, type RunRow, type RunState } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

/** A sign for each state: not everybody can distinguish the colours. */
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
    script: trans.__('script')
  };
  return texts[kind];
}

/**
 * The short name of a trial within its sweep, such as "trial 2", with its seed if there are several, or of a
 * stage within its curriculum, such as "stage 2"; otherwise null.
 */
export function trialName({ name, label, kind, parent, group }: RunRow): string | null {
  if (parent === null || isBackground(kind) || name !== label) {
    return null;
  }
  const [found] = /\b(?:trial \d+.*|stage \d+)$/.exec(label) ?? [];
  return found === undefined ? null : group === null ? found.replace(/ seed \d+$/, '') : found;
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
export function ageText(then: number | null, now: number): string {
  if (then === null) {
    return '';
  }
  const seconds = Math.max(0, now - then);
  if (seconds < 60) {
    return trans.__('now');
  }
  if (seconds < 3600) {
    return trans.__('%1m', Math.floor(seconds / 60));
  }
  return seconds < 172_800
    ? trans.__('%1h', Math.floor(seconds / 3600))
    : trans.__('%1d', Math.floor(seconds / 86_400));
}

/** "45%", for a sweep "12 of 40 trials", or the progress alone if the total is unknown. */
export function progressText(row: RunRow): string {
  if (row.total_trials !== null && row.trials !== null) {
    const done = whole(row.trials);
    const total = whole(row.total_trials);
    return row.segmented
      ? trans.__('%1 of %2 segments', done, total)
      : trans.__('%1 of %2 trials', done, total);
  }
  if (row.progress !== null && row.state !== 'completed') {
    return `${whole(100 * row.progress)}%`;
  }
  if (row.total_episodes !== null && row.episodes !== null) {
    return trans._n('%1 episode', '%1 episodes', row.episodes);
  }
  if (row.step === null) return '';
  return row.total_steps === row.requested_steps
    ? number(row.step)
    : trans.__('%1 (%2 requested)', whole(row.step), whole(row.requested_steps));
}
