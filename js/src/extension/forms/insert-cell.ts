/** Inserts the code of a form below the active cell of the current notebook. */

import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

import { labVariable } from './lab-variable.ts';

/** The variable of the notebook's `Lab`, and the lines that make one where there is none. */
export function labOf(panel: NotebookPanel): { name: string; setup: string } {
  const sources: string[] = [];
  for (const cell of panel.content.model?.cells ?? []) {
    if (cell.type === 'code') {
      sources.push(cell.sharedModel.getSource());
    }
  }
  const name = labVariable(sources);
  return name === null
    ? { name: 'lab', setup: 'import mosaic_lab as mosaic\n\nlab = mosaic.Lab()\n\n' }
    : { name, setup: '' };
}

/** Insert `code` as a new code cell below the active one, and make it the active cell. It is not executed. */
export function insertCell(panel: NotebookPanel, code: string): void {
  const notebook = panel.content;
  const active = notebook.activeCell;
  const isEmpty = active?.model.type === 'code' && active.model.sharedModel.getSource().trim() === '';
  if (!isEmpty) {
    NotebookActions.insertBelow(notebook);
  }
  if (notebook.activeCell?.model.type !== 'code') {
    NotebookActions.changeCellType(notebook, 'code');
  }
  notebook.activeCell?.model.sharedModel.setSource(code);
  notebook.scrollToItem(notebook.activeCellIndex).catch(() => undefined);
}
