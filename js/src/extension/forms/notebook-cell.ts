/** The notebook into which a form inserts its cell. */

import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { freeName, IMPORT, labVariable, namesIn } from './lab-variable.ts';

/** The notebook's `Lab` variable, the lines that create one if there is none, and the names in use. */
export function labOf(panel: NotebookPanel | null): { name: string; setup: string; taken: string[] } {
  const sources: string[] = [];
  for (const cell of panel?.content.model?.cells ?? []) {
    if (cell.type === 'code') sources.push(cell.sharedModel.getSource());
  }
  const usedNames = namesIn(sources);
  const existing = labVariable(sources);
  if (existing !== null) return { name: existing, setup: '', taken: usedNames };
  const name = freeName('lab', usedNames);
  const [line, module] = usedNames.includes('mosaic')
    ? ['import mosaic_lab', 'mosaic_lab']
    : [IMPORT, 'mosaic'];
  return { name, setup: `${line}\n\n${name} = ${module}.Lab()\n\n`, taken: usedNames };
}

/** Insert `code` as a new code cell below the active one, and make it the active cell. It is not executed. */
export function insertCell(panel: NotebookPanel, code: string): void {
  const notebook = panel.content;
  const active = notebook.activeCell;
  const isEmpty = active?.model.type === 'code' && active.model.sharedModel.getSource().trim() === '';
  if (!isEmpty) NotebookActions.insertBelow(notebook);
  if (notebook.activeCell?.model.type !== 'code') NotebookActions.changeCellType(notebook, 'code');
  notebook.activeCell?.model.sharedModel.setSource(code);
  notebook.scrollToItem(notebook.activeCellIndex).catch(() => undefined);
}
