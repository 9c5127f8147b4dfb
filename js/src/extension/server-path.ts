/** Where files are, as Jupyter's server names them. */

import { PageConfig } from '@jupyterlab/coreutils';

/** `path` as seen from the server's root folder, or null when it lies outside. */
export function pathInServer(path: string): string | null {
  const prefix = serverRoot();
  return `${path}/`.startsWith(prefix) ? path.slice(prefix.length) : null;
}

/** The absolute path on the server's machine of a file that the file browser shows. */
export function pathOnServer(path: string): string {
  return `${serverRoot()}${path}`;
}

/** The folder that the server serves, with a slash at its end. */
function serverRoot(): string {
  const rootUri = PageConfig.getOption('rootUri');
  const root = rootUri ? decodeURIComponent(new URL(rootUri).pathname) : PageConfig.getOption('serverRoot');
  return root.endsWith('/') ? root : `${root}/`;
}
