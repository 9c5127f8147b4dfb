/** A kernel's connection as provided by the widget manager: a connection of @jupyterlab/services 7.6. */

/** Statuses after which every comm of the kernel is gone. */
export const ENDED: readonly string[] = ['restarting', 'autorestarting', 'terminating', 'dead'];

/** JupyterLab's class of a widget whose kernel was restarted or shut down. */
export const DISCONNECTED = '.jupyter-widgets-disconnected';

/** The future of a kernel that ends is rejected, which is not an error here. */
export function ignoreRejection(future: { readonly done?: Promise<unknown> }): void {
  future.done?.catch(() => {});
}

/**
 * Keep keys pressed in `node` from JupyterLab, which binds arrows and letters for any focus in a notebook.
 * JupyterLab searches for this mark from the focus upwards; it takes precedence only on the node itself
 * (checked on JupyterLab 4.6).
 */
export function suppressShortcuts(node: HTMLElement): void {
  node.dataset.lmSuppressShortcuts = 'true';
}
