/**
 * One run store, through a kernel with a `Lab` on it if available, otherwise through Jupyter's server. Views
 * use this class only: which transport answers, and a change between them, is hidden from them.
 */

import { type KernelOfStore, KernelTransport } from './kernel-transport.ts';
import {
  ACTIONS,
  type Answer,
  type Changes,
  type Method,
  type Methods,
  type Progress,
  type RunRow
} from './run-api.ts';
import { type Follower, type Transport, Unreachable } from './transport.ts';

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

/** Rows that are new or have changed, and the ids of removed runs. */
export type RowChanges = Pick<Changes, 'rows' | 'removed'>;

interface RunSourceOptions {
  /** Null where only kernels answer. */
  readonly server: Transport | null;
  /** The result is shown if a kernel is needed and there is none. */
  readonly whyNot: () => string;
  readonly onProgress?: (progress: Progress) => void;
}

export class RunSource {
  /** The store's folder, an absolute path. */
  readonly store: string;

  constructor(store: string, options: RunSourceOptions) {
    this.store = store;
    this._options = options;
  }

  /** Whether a kernel for actions is available; if not, `whyNot` says what to do. */
  get canAct(): boolean {
    return this._actor !== undefined;
  }

  get whyNot(): string {
    return this._options.whyNot();
  }

  /** The id of that kernel, whose widgets `panel` and `compare` create; null without one. */
  get kernelId(): string | null {
    return this._actor?.kernel.id ?? null;
  }

  /** Whether a kernel has a `Lab` on this store, even if it cannot be reached at present. */
  get hasKernel(): boolean {
    return this._kernels.length > 0;
  }

  /** The runs by id; null before the first answer, and while there are no listeners. */
  get runs(): ReadonlyMap<string, RunEntry> | null {
    return this._runs;
  }

  /** Set the kernels that currently have a `Lab` on this store. */
  setKernels(kernels: readonly KernelOfStore[]): void {
    for (const transport of this._kernels.filter(({ kernel }) => !kernels.includes(kernel))) {
      transport.dispose();
    }
    this._kernels = kernels.map(
      kernel => this._kernels.find(transport => transport.kernel === kernel) ?? this._transportTo(kernel)
    );
    this._choose();
  }

  /** Rejects with an error whose message is for the user: `Unreachable` if the store may be read later. */
  async call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>> {
    const actors = this._actor ? [this._actor] : [];
    let problem = this.whyNot;
    for (const transport of ACTIONS.has(method) ? actors : this._readers) {
      try {
        return await transport.call(method, params);
      } catch (reason) {
        if (!(reason instanceof Unreachable)) throw reason;
        problem = reason.message;
      }
    }
    throw new Unreachable(problem);
  }

  /** Call `listener` with all rows at first, then with each change; returns how to end this. */
  subscribe(listener: (changes: RowChanges) => void): () => void {
    this._listeners.add(listener);
    if (this._runs) listener({ rows: Array.from(this._runs.values(), ({ row }) => row), removed: [] });
    this._choose();
    return () => {
      this._listeners.delete(listener);
      this._choose();
    };
  }

  /** Call `listener` when `canAct` or `whyNot` may have changed. */
  onStatus(listener: () => void): () => void {
    this._statusListeners.add(listener);
    return () => this._statusListeners.delete(listener);
  }

  private _transportTo(kernel: KernelOfStore): KernelTransport {
    const { onProgress = () => {} } = this._options;
    return new KernelTransport(kernel, this.store, { onStatus: () => this._choose(), onProgress });
  }

  private get _usable(): KernelTransport | undefined {
    return this._kernels.find(transport => transport.usable);
  }

  /** The kernel for actions; an unresponsive one executes them later. */
  private get _actor(): KernelTransport | undefined {
    return this._usable ?? this._kernels.find(({ kernel }) => kernel.connectionStatus === 'connected');
  }

  /** The transports for reading, best first. */
  private get _readers(): Transport[] {
    const { server } = this._options;
    if (server === null) return this._kernels;
    return this._usable ? [this._usable, server] : [server];
  }

  /** Select the best transport, and follow it while there are listeners. */
  private _choose(): void {
    const transport = this._listeners.size ? this._readers[0] : undefined;
    if (transport !== this._followed) {
      this._followed = transport;
      this._unfollow?.();
      this._unfollow = transport?.follow(this._newFollower());
    }
    if (!this._listeners.size) this._runs = null; // not updated any more
    for (const listener of this._statusListeners) listener();
  }

  private _newFollower(): Follower {
    const follower = {
      version: 0,
      take: (changes: Changes) => {
        follower.version = changes.version;
        this._take(changes);
      }
    };
    return follower;
  }

  private _take({ whole, rows, removed }: Changes): void {
    const entries = this._runs ?? new Map<string, RunEntry>();
    this._runs = entries;
    const ids = new Set(rows.map(row => row.id));
    const gone = whole ? [...entries.keys()].filter(id => !ids.has(id)) : removed;
    for (const id of gone) entries.delete(id);
    for (const row of rows) entries.set(row.id, { key: runKey(this.store, row.id), store: this.store, row });
    for (const listener of this._listeners) listener({ rows, removed: gone });
  }

  private readonly _options: RunSourceOptions;
  private readonly _listeners = new Set<(changes: RowChanges) => void>();
  private readonly _statusListeners = new Set<() => void>();
  private _kernels: KernelTransport[] = [];
  private _runs: Map<string, RunEntry> | null = null;
  private _followed: Transport | undefined;
  private _unfollow: (() => void) | undefined;
}

const PATIENCE_MS = 10_000;

/** All rows of a store, the latest first; none if the store does not answer in time. */
export async function latestRows(source: RunSource): Promise<readonly RunRow[]> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let end = () => {};
  try {
    return await new Promise<readonly RunRow[]>(resolve => {
      timer = setTimeout(() => resolve([]), PATIENCE_MS);
      end = source.subscribe(({ rows }) => {
        resolve(rows.toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0)));
      });
    });
  } finally {
    clearTimeout(timer);
    end();
  }
}
