/**
 * Opens tabs. JupyterLab shows them in its main area. In Notebook 7 the main area belongs to the page's
 * single document and ignores other widgets, so tabs open in the area below.
 */

import { type JupyterFrontEnd, LabShell } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import { SplitPanel, TabPanel, type Title, type Widget } from '@lumino/widgets';

/** A tab with this content, without a tool bar. */
export function newTab<Content extends Widget>(
  content: Content,
  id: string,
  title: Partial<Title.IOptions<Widget>>
): MainAreaWidget<Content> {
  const tab = new MainAreaWidget({ content });
  tab.toolbar.hide();
  tab.id = id;
  Object.assign(tab.title, { ...title, closable: true });
  return tab;
}

/** Activate a tab; add it if it is new. `options`: its place in JupyterLab's main area. */
export function showTab(
  { shell }: JupyterFrontEnd,
  tab: Widget,
  options?: DocumentRegistry.IOpenOptions
): void {
  const isLab = shell instanceof LabShell;
  const isNew = !tab.isAttached;
  if (isNew) shell.add(tab, isLab ? 'main' : 'down', isLab ? options : undefined);
  shell.activateById(tab.id);
  if (!isLab) showBelow(tab, isNew);
}

/** Notebook 7.6 opens the area below but does not activate a tab there, and gives the first one no height. */
function showBelow(tab: Widget, isNew: boolean): void {
  const area = tab.parent?.parent;
  if (area instanceof TabPanel) {
    area.currentWidget = tab;
    if (isNew && area.widgets.length === 1 && area.parent instanceof SplitPanel) {
      area.parent.setRelativeSizes([1, 1]);
    }
  }
}
