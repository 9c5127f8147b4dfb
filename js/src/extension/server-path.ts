/** Where files are, as Jupyter's server names them. */

import { PageConfig } from '@jupyterlab/coreutils';

/** `path` as seen from the server's root folder, or null when it lies outside. */
export function pathInServer(path: string): string | null {
  const rootUri = PageConfig.getOption('rootUri');
  const root = rootUri ? decodeURIComponent(new URL(rootUri).pathname) : PageConfig.getOption('serverRoot');
  const prefix = root.endsWith('/') ? root : `${root}/`;
  return `${path}/`.startsWith(prefix) ? path.slice(prefix.length) : null;
}
