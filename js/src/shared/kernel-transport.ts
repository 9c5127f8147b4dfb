/**
 * A store through a kernel with a `Lab` on it: one comm, opened on first use.
 * `mosaic_lab/widgets/overview/channel.py` is the kernel's side and documents the protocol.
 *
 * A kernel confirms every request at once. If there is no confirmation within three seconds, the kernel
 * counts as silent: it is suspended, or runs code that blocks its other threads. It is used again after its
 * next message.
 */

import type { Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { trans } from '../views/translation.ts';
import { ACTIONS, type Answer, type Changes, type Method, type Methods, type Progress } from './run-api.ts';
import { subshellOf } from './subshell.ts';
import { BackOff, type Follower, type Transport, Unreachable } from './transport.ts';

const TARGET = 'mosaic_lab.overview';
const SILENT_MS = 3000;
/** The kernel stops sending to a page that has been silent for 90 s. */
const BEAT_MS = 20_000;
const SUBSHELL_MS = 10_000;

/** The parts of a kernel's connection in use. */
export type KernelOfStore = Pick<Kernel.IKernelConnection, 'id' | 'connectionStatus' | 'createComm'>;

interface KernelEvents {
  /** Called when `usable` may have changed. */
  onStatus(): void;
  /** Called with the kernel's progress reports, such as of an installation. */
  onProgress(progress: Progress): void;
}

interface Pending {
  resolve(answer: Answer<Method>): void;
  reject(reason: Error): void;
  silence: ReturnType<typeof setTimeout> | undefined;
}

interface FromKernel {
  readonly id?: number;
  readonly taken?: true;
  readonly result?: Answer<Method>['result'];
  readonly error?: string;
  readonly changes?: Changes;
  readonly progress?: Progress;
}

export class KernelTransport implements Transport {
  readonly kernel: KernelOfStore;

  constructor(kernel: KernelOfStore, store: string, events: KernelEvents) {
    this.kernel = kernel;
    this._store = store;
    this._events = events;
  }

  /** Whether requests are worth sending. */
  get usable(): boolean {
    return !this._silent && !this._closed && this.kernel.connectionStatus === 'connected';
  }

  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>> {
    // Actions do not time out: a late action would be executed after the page had reported its failure.
    const patience = ACTIONS.has(method) ? undefined : SILENT_MS;
    return this._request(method, params, patience) as Promise<Answer<M>>;
  }

  follow(follower: Follower): () => void {
    this._follower = follower;
    this._subscribe();
    this._beat ??= setInterval(() => this._notify('beat', {}), BEAT_MS);
    return () => {
      this._follower = undefined;
      clearInterval(this._beat);
      this._beat = undefined;
      if (this._comm && this.usable) this._notify('unsubscribe', {});
    };
  }

  /** Close the comm: the kernel is gone or no longer needed. */
  dispose(): void {
    this._closed = true;
    clearInterval(this._beat);
    clearTimeout(this._retry);
    this._drop(trans.__('The kernel was restarted or shut down.'));
  }

  private _subscribe(): void {
    if (this._follower) this._notify('subscribe', { version: this._follower.version });
  }

  /** Send a message that needs no answer but shows whether the kernel responds. */
  private _notify(method: string, params: object): void {
    this._request(method, params, SILENT_MS).catch(() => {});
  }

  private _request(method: string, params: object, patience?: number): Promise<Answer<Method>> {
    const id = ++this._last;
    return new Promise((resolve, reject) => {
      const timer = patience === undefined ? undefined : setTimeout(() => this._miss(id), patience);
      this._pending.set(id, { resolve, reject, silence: timer });
      this._send({ id, method, params }).catch(reason => this._reject(id, new Unreachable(reason.message)));
    });
  }

  private async _send(data: object): Promise<void> {
    this._opened ??= this._open();
    const comm = await this._opened;
    if (comm.isDisposed || this.kernel.connectionStatus !== 'connected') {
      throw new Error(trans.__('The kernel is not connected.'));
    }
    const future = comm.send(data as JSONObject);
    future.done?.catch(() => {}); // rejected if the kernel ends
    future.dispose(); // the kernel does not say that it has handled the message
  }

  private async _open(): Promise<Kernel.IComm> {
    const comm = this.kernel.createComm(TARGET);
    this._comm = comm;
    comm.onMsg = ({ content, buffers }) =>
      this._receive(content.data as unknown as FromKernel, buffers ?? []);
    comm.onClose = () => this._lose(comm);
    await subshellOf(this.kernel, comm, SUBSHELL_MS);
    comm.open({ store: this._store }).done?.catch(() => {});
    return comm;
  }

  private _receive(message: FromKernel, buffers: readonly (ArrayBuffer | ArrayBufferView)[]): void {
    this._backOff.reset();
    this._setSilent(false);
    if (message.changes) this._follower?.take(message.changes);
    if (message.progress) this._events.onProgress(message.progress);
    const pending = this._pending.get(message.id ?? 0);
    if (!pending) return;
    clearTimeout(pending.silence);
    if (message.error !== undefined) {
      this._reject(message.id as number, new Error(message.error));
    } else if (message.result !== undefined) {
      this._pending.delete(message.id as number);
      pending.resolve({ result: message.result, buffers: buffers.map(asArrayBuffer) });
    }
  }

  private _miss(id: number): void {
    this._reject(id, new Unreachable(trans.__('The kernel does not answer.')));
    this._setSilent(true);
  }

  private _setSilent(silent: boolean): void {
    if (this._silent !== silent) {
      this._silent = silent;
      this._events.onStatus();
    }
  }

  /** Handle a comm closed by the kernel: it has no `Lab` on the store any more, or heard nothing for long. */
  private _lose(comm: Kernel.IComm): void {
    if (comm !== this._comm || this._closed) return;
    this._drop(trans.__('The kernel closed the connection.'));
    clearTimeout(this._retry);
    this._retry = setTimeout(() => this._subscribe(), this._backOff.next());
  }

  private _drop(why: string): void {
    const comm = this._comm;
    this._comm = undefined;
    this._opened = undefined;
    if (comm && !comm.isDisposed) {
      if (this._closed && this.kernel.connectionStatus === 'connected') {
        comm.close().done?.catch(() => {});
      } else {
        comm.dispose();
      }
    }
    for (const id of [...this._pending.keys()]) this._reject(id, new Unreachable(why));
  }

  private _reject(id: number, reason: Error): void {
    const pending = this._pending.get(id);
    this._pending.delete(id);
    clearTimeout(pending?.silence);
    pending?.reject(reason);
  }

  private readonly _store: string;
  private readonly _events: KernelEvents;
  private readonly _pending = new Map<number, Pending>();
  private readonly _backOff = new BackOff(30_000);
  private _comm: Kernel.IComm | undefined;
  private _opened: Promise<Kernel.IComm> | undefined;
  private _follower: Follower | undefined;
  private _last = 0;
  private _silent = false;
  private _closed = false;
  private _beat: ReturnType<typeof setInterval> | undefined;
  private _retry: ReturnType<typeof setTimeout> | undefined;
}

function asArrayBuffer(buffer: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (buffer instanceof ArrayBuffer) return buffer;
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength) as ArrayBuffer;
}
