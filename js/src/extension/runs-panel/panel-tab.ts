/**
 * The content of a tab with the live panel of runs. A kernel makes the panel: the tab waits for one after a reload, and has
 * the next one make it after a restart.
 */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';

import type { RunSource } from '../../shared/run-api.ts';

const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json';

/** A widget of a kernel, which the notebook of that kernel knows how to show. */
export class KernelWidget extends Panel {
  constructor(source: RunSource, runs: readonly string[]) {
    super();
    this.addClass('mosaic-run-tab');
    this.node.dataset.mosaicRuns = runs.join(' ');
    this.source = source;
    this.runs = runs;
  }

  /** Have the source's kernel make the widget, and show it. Throws what the user is told. */
  async make(method: 'panel' | 'compare', notebooks: INotebookTracker): Promise<void> {
    const { source, runs } = this;
    const { rendermime } = notebookOf(source, notebooks).content;
    const { model_id } = (await source.call(method, { runs: [...runs] })).result;
    const renderer = rendermime.createRenderer(WIDGET_VIEW);
    const close = () => void source.call('close', { model_id }).catch(() => {}); // its kernel may be gone, and it too
    if (this.isDisposed) {
      close();
      return;
    }
    renderer.disposed.connect(close);
    this.addWidget(renderer);
    const data = { [WIDGET_VIEW]: { model_id, version_major: 2, version_minor: 0 } };
    await renderer.renderModel(rendermime.createModel({ data, trusted: true }));
  }

  readonly source: RunSource;
  readonly runs: readonly string[];
}

export class PanelTab extends KernelWidget {
  constructor(source: RunSource, runs: readonly string[], notebooks: INotebookTracker) {
    super(source, runs);
    this._notebooks = notebooks;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._unsubscribe = this.source.onStatus(() => void this._refresh());
    void this._refresh();
  }

  protected override onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    this._unsubscribe?.();
  }

  private async _refresh(): Promise<void> {
    const { source } = this;
    if (!source.canAct) {
      this._kernel = null;
      this._say(source.whyNot);
    } else if (this._kernel !== source.kernelId) {
      this._kernel = source.kernelId;
      this._clear();
      try {
        await this.make('panel', this._notebooks);
      } catch (reason) {
        this._kernel = null;
        this._say(reason instanceof Error ? reason.message : String(reason));
      }
    }
  }

  private _say(text: string): void {
    this._clear();
    const notice = document.createElement('p');
    notice.className = 'mosaic-run-notice';
    notice.setAttribute('role', 'status');
    notice.textContent = text;
    this.addWidget(new Widget({ node: notice }));
  }

  private _clear(): void {
    for (const widget of [...this.widgets]) {
      widget.dispose();
    }
  }

  private readonly _notebooks: INotebookTracker;
  /** The kernel that made what is shown. */
  private _kernel: string | null = null;
  private _unsubscribe: (() => void) | undefined;
}

/** The notebook of the source's kernel: its widget manager has the kernel's widgets. */
function notebookOf(source: RunSource, notebooks: INotebookTracker): NotebookPanel {
  const notebook = notebooks.find(
    panel => source.kernelId !== null && panel.sessionContext.session?.kernel?.id === source.kernelId
  );
  if (!notebook) {
    throw new Error(source.whyNot);
  }
  return notebook;
}
