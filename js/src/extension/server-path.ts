/** Paths as named by Jupyter's server. */

import { PageConfig } from '@jupyterlab/coreutils';

/** `path` relative to the server's root folder, or null if it is outside. */
export function pathInServer(path: string): string | null {
  const prefix = serverRoot();
  return `${path}/`.startsWith(prefix) ? path.slice(prefix.length) : null;
}

/** The absolute path on the server's machine of a file in the file browser. */
export function pathOnServer(path: string): string {
  return `${serverRoot()}${path}`;
}

/** The server's root folder, with a trailing slash. */
function serverRoot(): string {
  const rootUri = PageConfig.getOption('rootUri');
  const root = rootUri ? decodeURIComponent(new URL(rootUri).pathname) : PageConfig.getOption('serverRoot');
  return root.endsWith('/') ? root : `${root}/`;
}
