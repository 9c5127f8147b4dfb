/** Tabs of the main area: a kernel's live panel of runs, a comparison, a log. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Panel, type Widget } from '@lumino/widgets';

import type { RunSource } from '../../shared/run-api.ts';
import { runsIcon } from '../icons.ts';
import { LogTab } from './log-tab.ts';
import { nameOf, type Target } from './targets.ts';

const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json';

export class RunTabs {
  constructor(app: JupyterFrontEnd, notebooks: INotebookTracker, trans: TranslationBundle) {
    this._app = app;
    this._notebooks = notebooks;
    this._trans = trans;
  }

  /** Show the panel or the comparison that the source's kernel makes of these runs. One that is open comes to the front. */
  async openPanel(method: 'panel' | 'compare', source: RunSource, targets: readonly Target[]): Promise<void> {
    const ids = targets.map(({ id }) => id);
    const id = `mosaic-lab-${method}:${source.store}:${ids.join(' ')}`;
    if (this._activated(id)) {
      return;
    }
    const notebook = this._notebookOf(source);
    const { model_id } = (await source.call(method, { runs: ids })).result;
    const content = new Panel();
    content.addClass('mosaic-run-tab');
    content.node.dataset.mosaicRuns = ids.join(' ');
    const model = notebook.content.rendermime.createModel({
      data: { [WIDGET_VIEW]: { model_id, version_major: 2, version_minor: 0 } },
      trusted: true
    });
    const renderer = notebook.content.rendermime.createRenderer(WIDGET_VIEW);
    content.addWidget(renderer);
    this._show(id, content, method === 'compare' ? this._trans.__('Comparison') : this._title(targets));
    content.disposed.connect(() => {
      source.call('close', { model_id }).catch(() => undefined); // its kernel may be gone, and the panel with it
    });
    await renderer.renderModel(model);
  }

  openLog(target: Target): void {
    const id = `mosaic-lab-log:${target.source.store}:${target.id}`;
    if (!this._activated(id)) {
      const content = new LogTab(target.source, target.id, this._trans);
      this._show(id, content, this._trans.__('Log of %1', nameOf(target)));
    }
  }

  private _title(targets: readonly Target[]): string {
    const [only] = targets;
    return targets.length === 1 && only ? nameOf(only) : this._trans.__('%1 runs', targets.length);
  }

  private _show(id: string, content: Widget, label: string): void {
    const tab = new MainAreaWidget({ content });
    tab.id = id;
    tab.title.label = label;
    tab.title.caption = label;
    tab.title.icon = runsIcon;
    tab.title.closable = true;
    this._app.shell.add(tab, 'main');
    this._app.shell.activateById(id);
    this._open.set(id, tab);
    tab.disposed.connect(() => this._open.delete(id));
  }

  private _activated(id: string): boolean {
    if (!this._open.has(id)) {
      return false;
    }
    this._app.shell.activateById(id);
    return true;
  }

  /** The notebook of the source's kernel: its widget manager has the kernel's widgets. */
  private _notebookOf(source: RunSource): NotebookPanel {
    const notebook = this._notebooks.find(
      panel => source.kernelId !== null && panel.sessionContext.session?.kernel?.id === source.kernelId
    );
    if (!notebook) {
      throw new Error(source.whyNot);
    }
    return notebook;
  }

  private readonly _app: JupyterFrontEnd;
  private readonly _notebooks: INotebookTracker;
  private readonly _trans: TranslationBundle;
  private readonly _open = new Map<string, Widget>();
}
