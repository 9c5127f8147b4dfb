/**
 * A kernel's connection as provided by the widget manager: a connection of @jupyterlab/services 7.6.
 * `subshellStarted` is not in its types; without it, comms go to the kernel's main thread, as before
 * subshells.
 */

export type ConnectionStatus = 'connected' | 'connecting' | 'disconnected';

interface Signal<Value> {
  connect(slot: (sender: unknown, value: Value) => void): void;
  disconnect(slot: (sender: unknown, value: Value) => void): void;
}

interface Future {
  readonly done?: Promise<unknown>;
}

export interface CommMessage {
  content: { data: unknown };
  buffers?: (ArrayBuffer | ArrayBufferView<ArrayBuffer>)[];
}

export interface Comm {
  onMsg: (message: CommMessage) => void;
  onClose: () => void;
  readonly isDisposed: boolean;
  open(data: object): Future;
  send(data: object): Future;
  close(): Future;
  dispose(): void;
}

export interface KernelConnection {
  readonly connectionStatus: ConnectionStatus;
  readonly statusChanged: Signal<string>;
  readonly connectionStatusChanged: Signal<ConnectionStatus>;
  createComm(target: string): Comm;
  requestCommInfo(content: { target_name: string }): Promise<{ content: { comms?: object } }>;
}

/** Statuses after which every comm of the kernel is gone. */
export const ENDED: readonly string[] = ['restarting', 'autorestarting', 'terminating', 'dead'];

/** JupyterLab's class of a widget whose kernel was restarted or shut down. */
export const DISCONNECTED = '.jupyter-widgets-disconnected';

/** The future of a kernel that ends is rejected, which is not an error here. */
export function ignoreRejection(future: Future | undefined): void {
  future?.done?.catch(() => {});
}

/**
 * Keep keys pressed in `node` from JupyterLab, which binds arrows and letters for any focus in a notebook.
 * JupyterLab searches for this mark from the focus upwards; it takes precedence only on the node itself
 * (checked on JupyterLab 4.6).
 */
export function suppressShortcuts(node: HTMLElement): void {
  node.dataset.lmSuppressShortcuts = 'true';
}
