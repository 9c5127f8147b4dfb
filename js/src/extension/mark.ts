/** Plugin: records the extension's version on the page, for widgets of kernels with another version. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { markPage } from '../shared/page-extension.ts';

export const markPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:mark',
  description: 'Tells widgets which version of the extension the page has.',
  autoStart: true,
  activate: () => markPage(document.body)
};
