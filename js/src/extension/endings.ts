/** Notices about ended runs: one per run, or one for a group whose runs end in quick succession. */

import { groupLabel, shortened } from '../shared/names.ts';
import type { RunState } from '../shared/run-api.ts';
import { trans } from '../views/translation.ts';
import type { IEndedRun } from './tokens.ts';

/** JupyterLab displays this many characters of a notification. */
const MAX_CHARACTERS = 140;
/** Runs of a group that end within this time of each other share a notice. */
const TOGETHER_MS = 60_000;

export interface Notice {
  readonly message: string;
  readonly type: 'success' | 'info' | 'error';
  /** In the order in which they ended. */
  readonly runs: readonly IEndedRun[];
}

/** The content of a notification. */
interface Ending {
  runs: IEndedRun[];
  /** When the last run ended, in milliseconds. */
  at: number;
  /** The id of the displayed notification. */
  shown?: string;
}

export class Endings {
  constructor(now: () => number = Date.now) {
    this._now = now;
  }

  /** Add an ended run and return its notice: null for successful runs that belong to another, such as films. */
  take(run: IEndedRun): Ending | null {
    const { group, parent, state } = run.row;
    if (parent !== null && !isBad(state)) return null;
    if (group === null) return { runs: [run], at: this._now() };
    const key = JSON.stringify([run.store, group]);
    let ending = this._groups.get(key);
    if (!ending || this._now() - ending.at > TOGETHER_MS) {
      ending = { runs: [], at: 0 };
      this._groups.set(key, ending);
    }
    ending.runs.push(run);
    ending.at = this._now();
    if (run.remaining === 0) this._groups.delete(key);
    return ending;
  }

  notice({ runs }: Ending): Notice {
    const states = runs.map(({ row }) => row.state);
    const type = states.some(isBad) ? 'error' : states.includes('cancelled') ? 'info' : 'success';
    const worst = runs.find(({ row }) => isBad(row.state)) ?? runs[0];
    const head = runs.length === 1 ? this._one(runs[0] as IEndedRun) : this._several(runs);
    const reason = worst?.row.state === 'completed' ? '' : (worst?.row.reason.split('\n')[0] ?? '');
    const message = reason ? `${head}: ${shortened(reason, MAX_CHARACTERS - head.length - 2)}` : head;
    return { message, type, runs };
  }

  private _one({ row }: IEndedRun): string {
    const name = shortened(row.name, MAX_CHARACTERS / 2);
    if (row.state === 'completed') return trans.__('%1 completed', name);
    if (row.state === 'failed') return trans.__('%1 failed', name);
    return row.state === 'cancelled' ? trans.__('%1 was stopped', name) : trans.__('%1 was lost', name);
  }

  private _several(runs: readonly IEndedRun[]): string {
    const count = (state: RunState) => runs.filter(({ row }) => row.state === state).length;
    const remaining = runs.at(-1)?.remaining ?? 0;
    const parts = [
      count('completed') && trans.__('%1 completed', count('completed')),
      count('failed') && trans.__('%1 failed', count('failed')),
      count('lost') && trans.__('%1 lost', count('lost')),
      count('cancelled') && trans.__('%1 stopped', count('cancelled')),
      remaining && trans.__('%1 still alive', remaining)
    ];
    const name = shortened(groupLabel(runs[0]?.row.group ?? ''), MAX_CHARACTERS / 2);
    return trans.__('%1, %2 runs: %3', name, runs.length + remaining, parts.filter(Boolean).join(', '));
  }
  private readonly _now: () => number;
  private readonly _groups = new Map<string, Ending>();
}

/** Whether this is an unsuccessful final state. */
export function isBad(state: RunState): boolean {
  return state === 'failed' || state === 'lost';
}
