/**
 * Where the tabs are. JupyterLab has them in its main area. The main area of Notebook 7 is taken by the one document of the
 * page, and whatever else is added to it is ignored: there they are in the area below it.
 */

import { type JupyterFrontEnd, LabShell } from '@jupyterlab/application';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import { SplitPanel, TabPanel, type Widget } from '@lumino/widgets';

/** Bring a tab to the front; the first time, add it. `options`: where in JupyterLab's main area. */
export function showTab(
  { shell }: JupyterFrontEnd,
  tab: Widget,
  options?: DocumentRegistry.IOpenOptions
): void {
  const isLab = shell instanceof LabShell;
  const isNew = !tab.isAttached;
  if (isNew) {
    shell.add(tab, isLab ? 'main' : 'down', isLab ? options : undefined);
  }
  shell.activateById(tab.id);
  if (!isLab) {
    showBelow(tab, isNew);
  }
}

/** Notebook 7.6 opens the area below, but neither shows one of its tabs nor gives the first one any height. */
function showBelow(tab: Widget, isNew: boolean): void {
  const area = tab.parent?.parent;
  if (area instanceof TabPanel) {
    area.currentWidget = tab;
    if (isNew && area.widgets.length === 1 && area.parent instanceof SplitPanel) {
      area.parent.setRelativeSizes([1, 1]);
    }
  }
}
