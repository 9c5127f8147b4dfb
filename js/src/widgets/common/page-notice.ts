/**
 * A line about the surrounding page: JupyterLab or Notebook without our extension, or with another version of
 * it. Other front ends do not use the extension, and show no line.
 */

import './cell.css';
import { aboutKernel, markOf, VERSION } from '../../shared/page-extension.ts';
import { element } from './elements.ts';

/** JupyterLab's main area; the attribute of Notebook 7 (checked on 4.6 and 7.6). */
const JUPYTER = '.jp-LabShell, body[data-notebook]';
const LINE = 'mosaic-page-notice';

/** Show the line as the last child of `parent`, unless another widget of the page shows it. */
export function showPageNotice(parent: HTMLElement): void {
  const text = pageNotice();
  if (text && !document.querySelector(`.${LINE}`)) {
    element('div', LINE, parent, text).setAttribute('role', 'note');
  }
}

function pageNotice(): string {
  if (!document.querySelector(JUPYTER)) return '';
  const page = markOf(document.body);
  if (page !== undefined) return aboutKernel(page, VERSION);
  return (
    `This page lacks the mosaic-lab extension (the kernel has mosaic-lab ${VERSION}), so there is no panel of runs, ` +
    'and panels are not restored after a restart. Install the same version in the environment that ' +
    `runs Jupyter (pip install mosaic-lab==${VERSION}) and reload the page.`
  );
}
