/**
 * Listens to the comm on which a kernel reports its run stores.
 *
 * The comm's target and id are `mosaic_lab.status`. The kernel sends an `IRunStatus` when a `Lab` is created.
 * To support front ends without this extension, the kernel never opens the comm: its first message makes the
 * page listen. A page that connects later, after a reload or a lost connection, finds the comm by `comm_info`
 * and requests the status once; a busy kernel answers after its cell has ended. A restarted kernel has no comm
 * until its `Lab` is created again.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import { type Kernel, KernelMessage } from '@jupyterlab/services';
import type { JSONObject, JSONValue } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';

import { subshellOf } from '../shared/subshell.ts';
import type { IRunStatus } from './tokens.ts';

const TARGET = 'mosaic_lab.status';
const SUBSHELL_MS = 10_000;
/** A connected kernel that has not answered for this long is running a cell. */
const PATIENCE_MS = 1500;

export class KernelStatus {
  constructor(context: ISessionContext) {
    this._context = context;
    context.kernelChanged.connect((_, change) => this._follow(change.newValue));
    context.statusChanged.connect((_, status) => {
      if (status === 'restarting' || status === 'autorestarting' || status === 'dead') this._forget();
    });
    context.connectionStatusChanged.connect((_, status) => {
      if (status === 'connected') this._find();
    });
    context.disposed.connect(() => Signal.clearData(this));
    this._follow(context.session?.kernel ?? null);
  }

  get status(): IRunStatus | null {
    return this._status;
  }

  get kernel(): Kernel.IKernelConnection | null {
    return this._kernel;
  }

  /** The name of the kernel's notebook. */
  get name(): string {
    return this._context.name;
  }

  /** Whether the kernel is running a cell and has therefore not reported yet whether it has a `Lab`. */
  get isAwaited(): boolean {
    return this._awaited !== null;
  }

  /** Emitted when `status` or `isAwaited` has changed. */
  readonly changed = new Signal<this, void>(this);

  /** Emitted when this page has connected to a kernel with a `Lab`. */
  readonly connected = new Signal<this, void>(this);

  /** Send data to the kernel; ignored if the kernel has no `Lab`. */
  async report(data: JSONObject): Promise<void> {
    await this._send(data);
  }

  private _follow(kernel: Kernel.IKernelConnection | null): void {
    this._kernel?.iopubMessage.disconnect(this._overhear, this);
    this._kernel = kernel;
    this._forget();
    // If there are several connections to one kernel (a notebook and a console), JupyterLab allows comms on
    // one.
    if (kernel?.handleComms) {
      kernel.iopubMessage.connect(this._overhear, this);
      this._find();
    }
  }

  /** Handle a kernel's first message, which arrives on a comm unknown to this page. */
  private _overhear(kernel: Kernel.IKernelConnection, message: KernelMessage.IIOPubMessage): void {
    if (!this._comm && KernelMessage.isCommMsgMsg(message) && message.content.comm_id === TARGET) {
      this._listen(kernel.createComm(TARGET, TARGET));
      this._receive(message.content.data);
      this.connected.emit();
    }
  }

  /** Look for a comm opened before this page was connected, and request the status on it. */
  private async _find(): Promise<void> {
    const kernel = this._kernel;
    if (!kernel?.handleComms) return;
    try {
      if (!this._comm || this._comm.isDisposed) {
        const hasComm = await this._hasComm(kernel);
        if (!hasComm || kernel !== this._kernel || this._comm) return;
        this._listen(kernel.createComm(TARGET, TARGET));
      }
      await this._send({});
      this.connected.emit();
    } catch (reason) {
      // The kernel ended, restarted or was disconnected meanwhile; each causes a separate event.
      console.debug(`MOSAIC: no status from kernel ${kernel.id}:`, reason);
    }
  }

  private async _hasComm(kernel: Kernel.IKernelConnection): Promise<boolean> {
    const timer = setTimeout(() => {
      if (kernel === this._kernel && kernel.connectionStatus === 'connected') this._await(kernel);
    }, PATIENCE_MS);
    try {
      const { content } = await kernel.requestCommInfo({ target_name: TARGET });
      return content.status === 'ok' && TARGET in content.comms;
    } finally {
      clearTimeout(timer);
      if (this._awaited === kernel) this._await(null);
    }
  }

  private _await(kernel: Kernel.IKernelConnection | null): void {
    this._awaited = kernel;
    this.changed.emit();
  }

  /** Send a message, answered with the kernel's status: on a subshell if possible, so that no cell delays it. */
  private async _send(data: JSONObject): Promise<void> {
    const comm = this._comm;
    if (!comm || !this._kernel) return;
    await subshellOf(this._kernel, comm, SUBSHELL_MS);
    if (!comm.isDisposed) comm.send(data);
  }

  private _listen(comm: Kernel.IComm): void {
    this._comm = comm;
    comm.onMsg = message => this._receive(message.content.data);
    comm.onClose = () => {
      if (this._comm === comm) this._forget();
    };
  }

  private _receive(data: JSONObject): void {
    if (isRunStatus(data)) this._set(data);
  }

  private _forget(): void {
    this._comm = null;
    this._awaited = null;
    this._set(null);
  }

  private _set(status: IRunStatus | null): void {
    this._status = status;
    this.changed.emit();
  }

  private readonly _context: ISessionContext;
  private _kernel: Kernel.IKernelConnection | null = null;
  private _awaited: Kernel.IKernelConnection | null = null;
  private _comm: Kernel.IComm | null = null;
  private _status: IRunStatus | null = null;
}

function isRunStatus(data: Record<string, JSONValue | undefined>): data is JSONObject & IRunStatus {
  const { store, stores, version } = data;
  return [store, version].every(text => typeof text === 'string') && Array.isArray(stores);
}
