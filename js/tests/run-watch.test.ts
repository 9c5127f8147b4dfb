import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Signal } from '@lumino/signaling';

import { Endings } from '../src/extension/endings.ts';
import { RunWatch } from '../src/extension/run-watch.ts';
import type { IEndedRun, IRunSources } from '../src/extension/tokens.ts';
import type { Changes, RunRow } from '../src/shared/run-api.ts';
import type { RunSource } from '../src/shared/run-source.ts';
import { row as completed } from './memory-source.ts';

function row(id: string, more: Partial<RunRow> = {}): RunRow {
  const state = more.state ?? 'running';
  return completed(id, { state, alive: state === 'running', reason: '', ...more });
}

/** Run stores whose rows the test sets. */
class Sources {
  readonly changed = new Signal<IRunSources, void>({} as IRunSources);
  sources: RunSource[] = [];
  found: RunSource[] = [];
  private listeners = new Map<string, (changes: Changes) => void>();

  add(store: string): RunSource {
    const source = {
      store,
      subscribe: (listener: (changes: Changes) => void) => {
        this.listeners.set(store, listener);
        return () => this.listeners.delete(store);
      }
    } as unknown as RunSource;
    this.set([...this.sources, source]);
    return source;
  }

  set(sources: RunSource[]): void {
    this.sources = sources;
    this.changed.emit();
  }

  async search(): Promise<void> {
    this.set(this.found);
  }

  change(store: string, rows: RunRow[], removed: string[] = []): void {
    this.listeners.get(store)?.({ version: 1, rows, removed });
  }

  followed(store: string): boolean {
    return this.listeners.has(store);
  }
}

function watching(): { sources: Sources; watch: RunWatch; ended: IEndedRun[] } {
  const sources = new Sources();
  const watch = new RunWatch(sources as unknown as IRunSources);
  const ended: IEndedRun[] = [];
  watch.ended.connect((_, run) => ended.push(run));
  return { sources, watch, ended };
}

test('live runs are counted over all stores', () => {
  const { sources, watch } = watching();
  assert.equal(watch.alive, null);
  sources.add('/a');
  sources.add('/b');
  assert.deepEqual(watch.alive, { runs: 0, evaluations: 0, films: 0, comparisons: 0 });
  sources.change('/a', [row('1'), row('2', { kind: 'evaluation' }), row('3', { state: 'failed' })]);
  sources.change('/b', [row('1'), row('4', { kind: 'comparison' }), row('5', { kind: 'films' })]);
  assert.deepEqual(watch.alive, { runs: 2, evaluations: 1, films: 1, comparisons: 1 });
  sources.change('/b', [row('1', { state: 'completed' })], ['4']);
  assert.deepEqual(watch.alive, { runs: 1, evaluations: 1, films: 1, comparisons: 0 });
});

test('an end is reported once, and only for a run seen alive', () => {
  const { sources, ended } = watching();
  sources.add('/a');
  sources.change('/a', [row('old', { state: 'failed' }), row('1', { group: 'g' }), row('2', { group: 'g' })]);
  sources.change('/a', [row('old', { state: 'failed' }), row('1', { group: 'g', state: 'completed' })]);
  sources.change('/a', [row('1', { group: 'g', state: 'completed', tags: ['x'] })]);
  assert.deepEqual(
    ended.map(({ store, row, remaining }) => [store, row.id, remaining]),
    [['/a', '1', 1]]
  );
});

test('a store whose kernel has ended is still followed if the server finds it', async () => {
  const { sources, watch } = watching();
  const [a, b] = [sources.add('/a'), sources.add('/b')];
  sources.change('/a', [row('1')]);
  sources.found = [a];
  sources.set([]);
  assert.deepEqual(watch.alive, { runs: 1, evaluations: 0, films: 0, comparisons: 0 });
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual([sources.followed('/a'), sources.followed('/b')], [true, false]);
  assert.deepEqual(watch.stores, [a.store]);
  assert.ok(b);
});

function ended(more: Partial<RunRow>, remaining = 0): IEndedRun {
  return { store: '/a', row: row('run', { state: 'completed', ...more }), remaining };
}

function message(run: IEndedRun): string {
  const endings = new Endings();
  const ending = endings.take(run);
  return ending ? endings.notice(ending).message : '';
}

test('a notice names the run, its state, and the first line of the reason', () => {
  assert.equal(message(ended({ name: 'ppo' })), 'ppo completed');
  assert.equal(
    message(ended({ name: 'ppo', state: 'failed', reason: 'out of memory\nTraceback' })),
    'ppo failed: out of memory'
  );
  assert.equal(message(ended({ name: 'ppo', state: 'cancelled' })), 'ppo was stopped');
  const long = message(ended({ name: 'n'.repeat(200), state: 'failed', reason: 'r'.repeat(200) }));
  assert.equal(long.length, 140);
  assert.match(long, /^n+…n+ failed: r+…r+$/);
});

test('runs of a group that end together make one notice', () => {
  const endings = new Endings(() => 0);
  const first = endings.take(ended({ group: 'sweep', name: 'a' }, 2));
  assert.equal(first && endings.notice(first).message, 'a completed');
  const second = endings.take(ended({ group: 'sweep', state: 'failed', reason: 'nan' }, 1));
  assert.equal(second, first);
  const third = endings.take(ended({ group: 'sweep' }, 0));
  assert.equal(third, first);
  const notice = third && endings.notice(third);
  assert.equal(notice?.message, 'sweep, 3 runs: 2 completed, 1 failed: nan');
  assert.equal(notice?.type, 'error');
  assert.notEqual(endings.take(ended({ group: 'sweep' }, 0)), first);
});

test('runs of a group that end hours apart make one notice each', () => {
  let now = 0;
  const endings = new Endings(() => now);
  const first = endings.take(ended({ group: 'sweep' }, 1));
  now = 3_600_000;
  assert.notEqual(endings.take(ended({ group: 'sweep' }, 0)), first);
});

test('a run that belongs to another is reported only if it fails', () => {
  assert.equal(message(ended({ parent: 'training' })), '');
  assert.equal(message(ended({ parent: 'training', name: 'films', state: 'lost' })), 'films was lost');
});
