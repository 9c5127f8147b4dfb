/** Why an action on runs is not possible: sentences for the user, "" if it is possible. */

import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import type { Target } from './targets.ts';

export type Reason = (targets: readonly Target[]) => string;

export const some: Reason = targets => (targets.length ? '' : trans.__('Select a run first.'));

export const one: Reason = targets =>
  some(targets) ||
  (targets.length === 1 ? '' : trans.__('Select one run only: %1 are selected.', targets.length));

export const oneStore: Reason = targets =>
  some(targets) ||
  (new Set(targets.map(({ source }) => source)).size === 1 ? '' : trans.__('Select runs of one store only.'));

/** Every target needs a kernel. */
export const kernel: Reason = targets => {
  const without = targets.find(({ source }) => !source.canAct);
  return without ? without.source.whyNot : '';
};

export const panel: Reason = targets =>
  oneStore(targets) || notComparisons(targets) || aloneWithPanel(targets) || kernel(targets);

export const workspace: Reason = targets => oneStore(targets) || notComparisons(targets);

/** A double click opens the live panel or, without a kernel, the workspace. */
export const open: Reason = targets => panel(targets) && workspace(targets);

export const compare: Reason = targets => {
  const rows = rowsOf(targets);
  return (
    oneStore(targets) ||
    (rows.some(row => row.kind !== 'training') ? trans.__('Only trainings can be compared.') : '') ||
    (new Set(rows.map(row => row.env)).size > 1
      ? trans.__('Only trainings in the same environment can be compared.')
      : '') ||
    kernel(targets)
  );
};

export const stop: Reason = targets =>
  some(targets) ||
  (rowsOf(targets).length && !rowsOf(targets).some(row => row.alive)
    ? trans.__('None of the selected runs is alive.')
    : '') ||
  kernel(targets);

/** A single run, or the trainings of one group. */
export const resume: Reason = targets => {
  const rows = rowsOf(targets);
  const groups = new Set(rows.map(({ group, kind }) => (kind === 'training' ? group : null)));
  const kinds = ['evaluation', 'sweep', 'training'];
  return (
    oneStore(targets) ||
    (targets.length > 1 && (groups.size > 1 || groups.has(null))
      ? trans.__('Select one run, or the trainings of one group.')
      : '') ||
    (rows.some(({ kind }) => !kinds.includes(kind))
      ? trans.__('Only trainings, evaluations and sweeps can be resumed.')
      : '') ||
    (rows.some(({ alive }) => alive)
      ? trans._n('The run is still alive.', 'Stop the runs that are alive first.', targets.length)
      : '') ||
    (rows.length && rows.every(({ state }) => state === 'completed')
      ? trans._n('The run has completed.', 'All of these runs have completed.', targets.length)
      : '') ||
    kernel(targets)
  );
};

export const remove: Reason = targets =>
  some(targets) ||
  notComparisons(targets) ||
  (rowsOf(targets).some(row => row.alive) ? trans.__('Stop the runs that are alive first.') : '') ||
  kernel(targets);

export const annotateOne: Reason = targets => one(targets) || notComparisons(targets) || kernel(targets);

export const annotate: Reason = targets => some(targets) || notComparisons(targets) || kernel(targets);

export const read: Reason = targets => some(targets) || notComparisons(targets);

export const readOne: Reason = targets => one(targets) || notComparisons(targets);

function notComparisons(targets: readonly Target[]): string {
  return rowsOf(targets).some(row => row.kind === 'comparison')
    ? trans.__('Not possible for comparisons, which belong to the cell that started them.')
    : '';
}

function aloneWithPanel(targets: readonly Target[]): string {
  return targets.length > 1 && rowsOf(targets).some(row => ['evaluation', 'sweep'].includes(row.kind))
    ? trans.__('An evaluation or a sweep has a panel of its own: select it alone.')
    : '';
}

function rowsOf(targets: readonly Target[]): RunRow[] {
  return targets.flatMap(({ row }) => (row ? [row] : []));
}
