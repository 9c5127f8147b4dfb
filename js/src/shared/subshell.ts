/**
 * Messages that a subshell of the kernel handles are answered while a cell runs; others wait for its end. JupyterLab's comms
 * start their subshell by themselves, and say when it has started by a promise that its types lack: checked on
 * @jupyterlab/services 7.6. Where there is none, nothing is waited for.
 */

interface SubshellKernel {
  readonly supportsSubshells?: boolean;
}

interface SubshellComm {
  readonly commsOverSubshells?: string;
  readonly subshellStarted?: Promise<unknown>;
}

/** Resolves when what `comm` sends is handled by its subshell, or when it has none; at the latest after `ms`. */
export async function subshellOf(kernel: object, comm: object, ms: number): Promise<void> {
  const { commsOverSubshells, subshellStarted } = comm as SubshellComm;
  if ((kernel as SubshellKernel).supportsSubshells && commsOverSubshells !== 'disabled') {
    await Promise.race([subshellStarted, new Promise(resolve => setTimeout(resolve, ms))]);
  }
}
