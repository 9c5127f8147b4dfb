/** Why an action on runs is not possible: sentences for the user, "" if it is possible. */

import type { RunRow } from '../../shared/run-api.ts';
import type { Translation } from '../translation.ts';
import type { Target } from './targets.ts';

export type Reason = (targets: readonly Target[]) => string;

export class Reasons {
  private readonly _trans: Translation;

  constructor(trans: Translation) {
    this._trans = trans;
  }

  readonly some: Reason = targets => (targets.length ? '' : this._trans.__('Select a run first.'));

  readonly one: Reason = targets =>
    this.some(targets) ||
    (targets.length === 1 ? '' : this._trans.__('Select one run only: %1 are selected.', targets.length));

  readonly oneStore: Reason = targets =>
    this.some(targets) ||
    (new Set(targets.map(({ source }) => source)).size === 1
      ? ''
      : this._trans.__('Select runs of one store only.'));

  /** Every target needs a kernel. */
  readonly kernel: Reason = targets => {
    const without = targets.find(({ source }) => !source.canAct);
    return without ? without.source.whyNot : '';
  };

  readonly panel: Reason = targets =>
    this.oneStore(targets) ||
    this._notComparisons(targets) ||
    this._aloneWithPanel(targets) ||
    this.kernel(targets);

  readonly workspace: Reason = targets => this.oneStore(targets) || this._notComparisons(targets);

  /** A double click opens the live panel or, without a kernel, the workspace. */
  readonly open: Reason = targets => this.panel(targets) && this.workspace(targets);

  readonly compare: Reason = targets => {
    const rows = known(targets);
    return (
      this.oneStore(targets) ||
      (rows.some(row => row.kind !== 'training') ? this._trans.__('Only trainings can be compared.') : '') ||
      (new Set(rows.map(row => row.env)).size > 1
        ? this._trans.__('Only trainings in the same environment can be compared.')
        : '') ||
      this.kernel(targets)
    );
  };

  readonly stop: Reason = targets =>
    this.some(targets) ||
    (known(targets).length && !known(targets).some(row => row.alive)
      ? this._trans.__('None of the selected runs is alive.')
      : '') ||
    this.kernel(targets);

  /** A single run, or the trainings of one group. */
  readonly resume: Reason = targets => {
    const rows = known(targets);
    const groups = new Set(rows.map(({ group, kind }) => (kind === 'training' ? group : null)));
    const kinds = ['evaluation', 'sweep', 'training'];
    return (
      this.oneStore(targets) ||
      (targets.length > 1 && (groups.size > 1 || groups.has(null))
        ? this._trans.__('Select one run, or the trainings of one group.')
        : '') ||
      (rows.some(({ kind }) => !kinds.includes(kind))
        ? this._trans.__('Only trainings, evaluations and sweeps can be resumed.')
        : '') ||
      (rows.some(({ alive }) => alive)
        ? this._trans._n('The run is still alive.', 'Stop the runs that are alive first.', targets.length)
        : '') ||
      (rows.length && rows.every(({ state }) => state === 'completed')
        ? this._trans._n('The run has completed.', 'All of these runs have completed.', targets.length)
        : '') ||
      this.kernel(targets)
    );
  };

  readonly remove: Reason = targets =>
    this.some(targets) ||
    this._notComparisons(targets) ||
    (known(targets).some(row => row.alive) ? this._trans.__('Stop the runs that are alive first.') : '') ||
    this.kernel(targets);

  readonly annotateOne: Reason = targets =>
    this.one(targets) || this._notComparisons(targets) || this.kernel(targets);

  readonly annotate: Reason = targets =>
    this.some(targets) || this._notComparisons(targets) || this.kernel(targets);

  readonly read: Reason = targets => this.some(targets) || this._notComparisons(targets);

  readonly readOne: Reason = targets => this.one(targets) || this._notComparisons(targets);

  private _notComparisons(targets: readonly Target[]): string {
    return known(targets).some(row => row.kind === 'comparison')
      ? this._trans.__('Not possible for comparisons, which belong to the cell that started them.')
      : '';
  }

  private _aloneWithPanel(targets: readonly Target[]): string {
    return targets.length > 1 && known(targets).some(row => ['evaluation', 'sweep'].includes(row.kind))
      ? this._trans.__('An evaluation or a sweep has a panel of its own: select it alone.')
      : '';
  }
}

function known(targets: readonly Target[]): RunRow[] {
  return targets.flatMap(({ row }) => (row ? [row] : []));
}
