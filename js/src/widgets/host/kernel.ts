/**
 * A kernel's connection as the widget manager gives it, which is that of @jupyterlab/services 7.6. `subshellStarted` is not
 * in its types; where it is missing, comms go to the kernel's main thread, as they did before subshells.
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

/** A future whose kernel goes away is rejected, which is not an error here. */
export function ignoreRejection(future: Future | undefined): void {
  future?.done?.catch(() => {});
}

/**
 * Keys pressed in `node` are its own. JupyterLab binds arrows and letters to whatever has the focus in a notebook, and looks
 * for this mark from there upwards: only on the node itself it comes first (checked on JupyterLab 4.6).
 */
export function suppressShortcuts(node: HTMLElement): void {
  node.dataset.lmSuppressShortcuts = 'true';
}
