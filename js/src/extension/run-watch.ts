/**
 * Plugin: follows the runs of all known stores: how many are alive, and which end. An end is reported once,
 * for runs that this page saw alive; earlier ends are not reported.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Signal } from '@lumino/signaling';

import type { RunKind, RunRow } from '../shared/run-api.ts';
import type { RowChanges, RunSource } from '../shared/run-source.ts';
import { type IAlive, type IEndedRun, IRunSources, IRunWatch } from './tokens.ts';

/** The count of each kind; the others count as runs. */
const COUNTS: Partial<Record<RunKind, keyof IAlive>> = {
  evaluation: 'evaluations',
  'checkpoint evaluation': 'evaluations',
  films: 'films',
  comparison: 'comparisons'
};

interface Followed {
  readonly alive: Map<string, RunRow>;
  readonly unfollow: () => void;
}

export class RunWatch {
  constructor(sources: Pick<IRunSources, 'sources' | 'changed' | 'search'>) {
    this._sources = sources;
    sources.changed.connect(() => this._followAll());
    this._followAll();
  }

  /** Null if no store is known. */
  get alive(): IAlive | null {
    if (!this._followed.size) return null;
    const alive = { runs: 0, evaluations: 0, films: 0, comparisons: 0 };
    for (const store of this._followed.values()) {
      for (const { kind } of store.alive.values()) alive[COUNTS[kind] ?? 'runs'] += 1;
    }
    return alive;
  }

  /** The folders of the stores. */
  get stores(): readonly string[] {
    return [...this._followed.keys()].map(source => source.store);
  }

  /** Emitted when `alive` or `stores` may have changed. */
  readonly changed = new Signal<this, void>(this);

  /** Emitted once when a run has ended. */
  readonly ended = new Signal<this, IEndedRun>(this);

  private _followAll(): void {
    const current = this._sources.sources;
    for (const source of current.filter(source => !this._followed.has(source))) this._follow(source);
    if (this._gone.length) void this._leave();
    this.changed.emit();
  }

  /** Stores whose kernels have disappeared; the server may find them too. */
  private get _gone(): RunSource[] {
    const current = new Set(this._sources.sources);
    return [...this._followed.keys()].filter(source => !current.has(source));
  }

  private async _leave(): Promise<void> {
    if (this._leaving) return;
    this._leaving = true;
    await this._sources.search();
    this._leaving = false;
    for (const source of this._gone) {
      this._followed.get(source)?.unfollow();
      this._followed.delete(source);
    }
    this.changed.emit();
  }

  private _follow(source: RunSource): void {
    const alive = new Map<string, RunRow>();
    const entry = { alive, unfollow: () => unfollow() };
    this._followed.set(source, entry);
    const unfollow = source.subscribe(changes => this._take(source.store, alive, changes));
  }

  private _take(store: string, alive: Map<string, RunRow>, { rows, removed }: RowChanges): void {
    const ended = rows.filter(row => !row.alive && alive.has(row.id));
    for (const row of rows) {
      if (row.alive) alive.set(row.id, row);
      else alive.delete(row.id);
    }
    for (const id of removed) alive.delete(id);
    this.changed.emit();
    for (const row of ended) {
      const remaining = [...alive.values()].filter(other => row.group !== null && other.group === row.group);
      this.ended.emit({ store, row, remaining: remaining.length });
    }
  }

  private readonly _sources: Pick<IRunSources, 'sources' | 'changed' | 'search'>;
  private readonly _followed = new Map<RunSource, Followed>();
  private _leaving = false;
}

export const runWatchPlugin: JupyterFrontEndPlugin<IRunWatch> = {
  id: 'mosaic-lab:run-watch',
  description: 'Follows which runs are alive, and which end.',
  autoStart: true,
  requires: [IRunSources],
  provides: IRunWatch,
  activate: (_app: JupyterFrontEnd, sources: IRunSources) => new RunWatch(sources)
};
