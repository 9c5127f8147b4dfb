/**
 * One run store, through a kernel with a `Lab` on it if available, otherwise through Jupyter's server.
 * Listeners receive all rows once and then the changes, from either source.
 */

import { type ChannelEvents, type ChannelKernel, KernelChannel } from '../../shared/kernel-channel.ts';
import type { Answer, Changes, Method, Methods, RunRow, RunSource } from '../../shared/run-api.ts';
import { ACTIONS, type Transport, Unreachable } from '../../shared/transport.ts';
import type { Translation } from '../../views/translation.ts';

export class StoreSource implements RunSource {
  readonly store: string;

  /** The result of `whyNot` is shown if a kernel is needed and there is none. */
  constructor(
    store: string,
    server: Transport,
    whyNot: () => string,
    onProgress: ChannelEvents['onProgress'],
    trans: Translation
  ) {
    this.store = store;
    this._whyNot = whyNot;
    this._trans = trans;
    this._server = server;
    this._events = { onStatus: () => this._choose(), onProgress };
  }

  get whyNot(): string {
    return this._whyNot();
  }

  get canAct(): boolean {
    return this._actor !== undefined;
  }

  get kernelId(): string | null {
    return this._actor?.kernel.id ?? null;
  }

  /** Set the kernels that currently have a `Lab` on this store. */
  setKernels(kernels: readonly ChannelKernel[]): void {
    for (const channel of this._channels.filter(({ kernel }) => !kernels.includes(kernel))) {
      channel.dispose();
    }
    this._channels = kernels.map(
      kernel =>
        this._channels.find(channel => channel.kernel === kernel) ??
        new KernelChannel(kernel, this.store, this._events, this._trans)
    );
    this._choose();
  }

  async call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>> {
    if (ACTIONS.has(method)) {
      const channel = this._actor;
      if (!channel) {
        throw new Error(this.whyNot);
      }
      return channel.call(method, params);
    }
    let missing: Unreachable | undefined;
    for (const way of this._ways) {
      try {
        return await way.call(method, params);
      } catch (reason) {
        if (!(reason instanceof Unreachable)) {
          throw reason;
        }
        missing = reason;
      }
    }
    throw new Error(missing?.message);
  }

  subscribe(listener: (changes: Changes) => void): () => void {
    this._listeners.add(listener);
    if (this._version !== null) {
      listener({ version: this._version, rows: [...this._rows.values()], removed: [] });
    }
    this._choose();
    return () => {
      this._listeners.delete(listener);
      this._choose();
    };
  }

  onStatus(listener: () => void): () => void {
    this._statusListeners.add(listener);
    return () => this._statusListeners.delete(listener);
  }

  private get _usable(): KernelChannel | undefined {
    return this._channels.find(channel => channel.usable);
  }

  /** The kernel for actions; an unresponsive one executes them later. */
  private get _actor(): KernelChannel | undefined {
    return this._usable ?? this._channels.find(({ kernel }) => kernel.connectionStatus === 'connected');
  }

  private get _ways(): Transport[] {
    return this._usable ? [this._usable, this._server] : [this._server];
  }

  /** Select the best source, and follow it while there are listeners. */
  private _choose(): void {
    const way = this._listeners.size ? this._ways[0] : undefined;
    if (way !== this._followed) {
      this._followed = way;
      this._unfollow?.();
      this._unfollow = way?.follow(changes => {
        if (way === this._followed) {
          this._take(changes);
        }
      });
      if (!way) {
        this._version = null; // rows are not updated any more
        this._rows.clear();
      }
    }
    for (const listener of this._statusListeners) {
      listener();
    }
  }

  private _take({ version, whole, rows, removed }: Changes): void {
    const ids = new Set(rows.map(row => row.id));
    const gone = whole ? [...this._rows.keys()].filter(id => !ids.has(id)) : removed;
    for (const id of gone) {
      this._rows.delete(id);
    }
    for (const row of rows) {
      this._rows.set(row.id, row);
    }
    this._version = version;
    for (const listener of this._listeners) {
      listener({ version, rows, removed: gone });
    }
  }

  private readonly _whyNot: () => string;
  private readonly _server: Transport;
  private readonly _events: ChannelEvents;
  private readonly _listeners = new Set<(changes: Changes) => void>();
  private readonly _statusListeners = new Set<() => void>();
  private readonly _rows = new Map<string, RunRow>();
  private readonly _trans: Translation;
  private _channels: KernelChannel[] = [];
  private _version: number | null = null;
  private _followed: Transport | undefined;
  private _unfollow: (() => void) | undefined;
}
