/**
 * Messages handled by a subshell of the kernel are answered while a cell runs; others wait for its end.
 * JupyterLab's comms start their subshell automatically, and resolve a promise, missing from their types,
 * when it has started: checked on @jupyterlab/services 7.6. Without a subshell there is no wait.
 */

interface SubshellKernel {
  readonly supportsSubshells?: boolean;
}

interface SubshellComm {
  readonly commsOverSubshells?: string;
  readonly subshellStarted?: Promise<unknown>;
}

/** Resolve when the subshell of `comm` handles its messages, or if there is none; after `ms` at the latest. */
export async function subshellOf(kernel: object, comm: object, ms: number): Promise<void> {
  const { commsOverSubshells, subshellStarted } = comm as SubshellComm;
  if ((kernel as SubshellKernel).supportsSubshells && commsOverSubshells !== 'disabled') {
    await Promise.race([subshellStarted, new Promise(resolve => setTimeout(resolve, ms))]);
  }
}
