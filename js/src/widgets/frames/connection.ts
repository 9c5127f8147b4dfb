/**
 * A view's connection to the kernel: one comm. It opens when a part first becomes visible and requests a
 * heartbeat every few seconds while one is visible. It reopens automatically after the kernel closed it,
 * forgot it or was restarted, and after sleep.
 */

import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { subshellOf } from '../../shared/subshell.ts';
import type { WidgetManager } from '../host/ipywidgets.ts';
import { ENDED, ignoreRejection } from '../host/kernel.ts';
import type { FromKernel, Hello, ToKernel } from '../messages.ts';

const TARGET = 'mosaic_lab.frames';
const LAB_TARGET = 'mosaic_lab.status';
const TICK_MS = 1000;
const BEAT_MS = 5000;
const MAX_MISSED = 3;
const FORGOTTEN_MS = 50_000; // the kernel forgets a view after a minute of silence
const LONGEST_RETRY_MS = 30_000;
const SUBSHELL_MS = 10_000;
const CLOSE_MS = 10_000;

const RESTARTED = 'The kernel was restarted. Run mosaic_lab.Lab() to see frames again.';
const SILENT = 'The kernel does not answer. This is the last frame; more follow when it answers again.';
const CUT = 'The connection to the kernel is lost. This is the last frame; more follow when it is back.';
const SHUT_DOWN = 'The kernel was shut down. Start one and run mosaic_lab.Lab() to see frames again.';
const NO_FRONT_END = 'Frames are shown in JupyterLab and in Notebook 7.';

export type Buffers = readonly (ArrayBuffer | ArrayBufferView<ArrayBuffer>)[];

interface ConnectionHandlers {
  /** The opening message. */
  hello(): Hello;
  /** Whether anything is visible. */
  awake(): boolean;
  receive(message: FromKernel, buffers: Buffers): void;
  /** Why there is nothing new; "" once the connection works again. */
  trouble(text: string): void;
}

export class Connection {
  /** How often the comm was opened. */
  opened = 0;
  private readonly manager: WidgetManager;
  private readonly handlers: ConnectionHandlers;
  private readonly timer: ReturnType<typeof setInterval>;
  private kernel: Kernel.IKernelConnection | null = null;
  private comm: Kernel.IComm | null = null;
  private closed = false;
  private heard = false;
  private needsLab = false;
  private searching = false;
  private missed = 0;
  private beatAt = 0;
  private retryMs = TICK_MS;
  private retryAt = 0;

  constructor(manager: WidgetManager, handlers: ConnectionHandlers) {
    this.manager = manager;
    this.handlers = handlers;
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.tick();
  }

  send(message: ToKernel): void {
    if (this.comm && this.kernel?.connectionStatus === 'connected') sendTo(this.comm, message);
  }

  /** Check the connection: once a second, and when a part became visible. */
  tick(): void {
    if (this.closed) return; // the view was removed during an await
    const current = this.manager.kernel ?? null;
    if (current !== this.kernel) this.attach(current);
    if (!this.kernel) {
      this.handlers.trouble('kernel' in this.manager ? SHUT_DOWN : NO_FRONT_END);
      return;
    }
    if (!this.handlers.awake() || this.needsLab || this.kernel.connectionStatus !== 'connected') return;
    const now = Date.now();
    const elapsed = now - this.beatAt;
    if (!this.comm) {
      if (now >= this.retryAt) this.open(this.kernel);
    } else if (elapsed > FORGOTTEN_MS) {
      this.open(this.kernel);
    } else if (elapsed >= BEAT_MS) {
      if (this.missed < MAX_MISSED) {
        this.beat();
        return;
      }
      this.handlers.trouble(SILENT);
      this.open(this.kernel);
    }
  }

  /** The result of `hello` has changed. */
  renew(): void {
    this.drop();
    this.retryAt = 0;
    this.tick();
  }

  close(): void {
    this.closed = true;
    clearInterval(this.timer);
    this.attach(null);
  }

  private attach(kernel: Kernel.IKernelConnection | null): void {
    this.drop();
    this.kernel?.statusChanged.disconnect(this.onStatus);
    this.kernel?.connectionStatusChanged.disconnect(this.onConnection);
    this.kernel = kernel;
    kernel?.statusChanged.connect(this.onStatus);
    kernel?.connectionStatusChanged.connect(this.onConnection);
  }

  private async open(kernel: Kernel.IKernelConnection): Promise<void> {
    this.drop();
    this.retryAt = Date.now() + this.retryMs;
    this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
    try {
      const comm = kernel.createComm(TARGET);
      comm.onMsg = message => this.hear(comm, message);
      comm.onClose = () => this.lose(comm);
      this.comm = comm;
      this.beatAt = Date.now();
      this.missed = 0;
      this.heard = false;
      await subshellOf(kernel, comm, SUBSHELL_MS);
      if (this.comm !== comm) {
        comm.dispose();
        return;
      }
      ignoreRejection(comm.open(this.handlers.hello() as unknown as JSONObject));
      this.opened += 1;
      this.beat();
    } catch (reason) {
      console.warn('MOSAIC: no connection for frames:', reason);
      this.drop();
    }
  }

  private beat(): void {
    this.beatAt = Date.now();
    this.missed += 1;
    this.send({ type: 'beat' });
  }

  private hear(comm: Kernel.IComm, { content, buffers }: KernelMessage.ICommMsgMsg): void {
    if (comm !== this.comm) return;
    const message = content.data as unknown as FromKernel;
    this.heard = true;
    this.missed = 0;
    if (message.type === 'pong') this.retryMs = TICK_MS; // a refused view gets none
    this.handlers.trouble('');
    this.handlers.receive(message, (buffers ?? []) as Buffers);
  }

  /** Handle a comm closed by the kernel; one that never spoke is unknown to it: a new process without a Lab. */
  private lose(comm: Kernel.IComm): void {
    if (comm !== this.comm) return;
    this.needsLab = !this.heard;
    this.comm = null;
    if (this.needsLab) this.handlers.trouble(RESTARTED);
  }

  private drop(): void {
    const { comm } = this;
    this.comm = null;
    if (!comm || comm.isDisposed) return;
    if (this.kernel?.connectionStatus === 'connected') closeByKernel(comm);
    else comm.dispose();
  }

  private readonly onStatus = (_sender: unknown, status: Kernel.Status): void => {
    if (ENDED.includes(status)) {
      this.comm?.dispose();
      this.comm = null;
      this.needsLab = true;
      this.handlers.trouble(RESTARTED);
    } else if (status === 'idle' && this.needsLab) {
      this.findLab();
    }
  };

  private readonly onConnection = (_sender: unknown, status: Kernel.ConnectionStatus): void => {
    if (status === 'connected') this.renew();
    else if (this.comm) this.handlers.trouble(CUT);
  };

  /** Look for the Lab first: the kernel would answer an unknown comm with an error in the user's notebook. */
  private async findLab(): Promise<void> {
    if (this.searching || !this.kernel) return;
    this.searching = true;
    try {
      const { content } = await this.kernel.requestCommInfo({ target_name: LAB_TARGET });
      this.needsLab = content.status !== 'ok' || !Object.keys(content.comms).length;
    } catch {
      // It was removed meanwhile; the next "idle" checks again.
    }
    this.searching = false;
    this.retryAt = 0;
    this.tick();
  }
}

function sendTo(comm: Kernel.IComm, message: ToKernel): void {
  const future = comm.send(message as unknown as JSONObject);
  ignoreRejection(future);
  future.dispose(); // the kernel does not say that it has handled the message
}

/**
 * Ask the kernel to close `comm`. Closing it here would delete its subshell at once, often before the kernel
 * has handled the message about it, and the kernel would keep sending.
 */
function closeByKernel(comm: Kernel.IComm): void {
  sendTo(comm, { type: 'close' });
  setTimeout(() => {
    if (!comm.isDisposed) comm.dispose();
  }, CLOSE_MS);
}
