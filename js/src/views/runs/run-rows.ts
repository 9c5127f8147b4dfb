/** The rows of one or several stores, updated with the changes reported by each `RunSource`. */

import type { RunRow } from '../../shared/run-api.ts';
import type { RowChanges, RunSource } from '../../shared/run-source.ts';

/** A run with its store. An unchanged run remains the same object, so that its line is not rendered again. */
export interface RunEntry {
  readonly key: string;
  readonly store: string;
  readonly row: RunRow;
}

/** The key of a run among all stores. */
export function runKey(store: string, id: string): string {
  return `${store}\n${id}`;
}

export class RunRows {
  /** Follow exactly these stores, in this order. */
  setSources(sources: readonly RunSource[]): void {
    const before = new Map([...this._stores].map(([source, rows]) => [source, rows]));
    this._stores.clear();
    for (const source of sources) {
      this._stores.set(source, before.get(source) ?? new StoreRows(source, () => this._notify()));
      before.delete(source);
    }
    for (const gone of before.values()) gone.close();
    this._notify();
  }

  get sources(): readonly RunSource[] {
    return [...this._stores.keys()];
  }

  /** All rows, store by store. */
  get entries(): readonly RunEntry[] {
    this._entries ??= [...this._stores.values()].flatMap(rows => [...rows.byId.values()]);
    return this._entries;
  }

  /** Whether every store has answered at least once. */
  get loaded(): boolean {
    return [...this._stores.values()].every(rows => rows.loaded);
  }

  get(store: string, id: string): RunEntry | undefined {
    for (const [source, rows] of this._stores) if (source.store === store) return rows.byId.get(id);
    return undefined;
  }

  /** Call `listener` after each change. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  close(): void {
    this._listeners.clear();
    this.setSources([]);
  }

  private _notify(): void {
    this._entries = null;
    for (const listener of [...this._listeners]) listener();
  }

  private readonly _stores = new Map<RunSource, StoreRows>();
  private readonly _listeners = new Set<() => void>();
  private _entries: readonly RunEntry[] | null = null;
}

class StoreRows {
  readonly byId = new Map<string, RunEntry>();
  loaded = false;
  readonly close: () => void;

  constructor(source: RunSource, changed: () => void) {
    this.close = source.subscribe(changes => {
      this._take(source.store, changes);
      changed();
    });
  }

  private _take(store: string, { rows, removed }: RowChanges): void {
    this.loaded = true;
    for (const id of removed) this.byId.delete(id);
    for (const row of rows) this.byId.set(row.id, { key: runKey(store, row.id), store, row });
  }
}
