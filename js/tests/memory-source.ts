import type { RunRow } from '../src/shared/run-api.ts';
import { RunSource, runKey } from '../src/shared/run-source.ts';
import type { Follower } from '../src/shared/transport.ts';
import { RunTable } from '../src/views/runs/run-table.ts';

export const STORE = '/runs/ada/mosaic_runs';

/** A run source whose rows the test sets. */
export class MemorySource extends RunSource {
  hindrance = '';
  private follower: Follower | undefined;

  constructor(store = STORE) {
    const server = {
      call: () => Promise.reject(new Error('nothing is called here')),
      follow: (follower: Follower) => {
        this.follower = follower;
        return () => {};
      }
    };
    super(store, { server, whyNot: () => this.hindrance });
  }

  override get canAct(): boolean {
    return this.hindrance === '';
  }

  change(rows: RunRow[], removed: string[] = [], whole = false): void {
    this.follower?.take({ version: 1, rows, removed, whole });
  }
}

export function row(id: string, more: Partial<RunRow> = {}): RunRow {
  return {
    id,
    name: id,
    label: more.name ?? id,
    kind: 'training',
    state: 'completed',
    reason: 'ran to the end',
    alive: false,
    worker: 'cleanrl',
    algorithm: 'ppo',
    env: 'CartPole-v1',
    seed: null,
    group: null,
    parent: null,
    continues: null,
    tags: [],
    notes: '',
    created: 1000,
    started: 1000,
    earlier_seconds: 0,
    ended: 1060,
    duration: 60,
    step: 500,
    total_steps: 500,
    requested_steps: 500,
    episodes: null,
    total_episodes: null,
    trials: null,
    total_trials: null,
    segmented: false,
    progress: 1,
    speed: null,
    last_return: null,
    best_return: null,
    sparkline: [],
    hyperparameters: {},
    ...more
  };
}

/** The current time of the tests' tables, in Unix seconds. */
export const NOW = 10_000;

/** A table with the runs of these sources. */
export function tableOf(...sources: RunSource[]): RunTable {
  const table = new RunTable(() => NOW);
  table.setSources(sources);
  return table;
}

/** The table key of a run in `STORE`. */
export function key(id: string): string {
  return runKey(STORE, id);
}
