/** Plugin: writes on the page which extension it has, for widgets of kernels that may have another version of it. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { markPage } from '../shared/version.ts';

export const markPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:mark',
  description: 'Tells widgets which version of the extension the page has.',
  autoStart: true,
  activate: () => markPage(document.body)
};
