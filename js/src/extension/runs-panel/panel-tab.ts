/**
 * The content of a tab with the live panel of runs or a comparison of them. A kernel creates it: after a
 * reload the tab waits for a kernel, and after a restart it requests a new panel.
 */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';

import type { ExchangePlace } from '../../shared/run-api.ts';
import type { RowChanges, RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { trans } from '../../views/translation.ts';

const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json';

/** The kernel method that creates the tab's content. */
export type PanelMethod = 'panel' | 'compare' | 'replay';

export class PanelTab extends Panel {
  /** `replay`: the exchange at whose step a replay begins. */
  constructor(
    method: PanelMethod,
    source: RunSource,
    runs: readonly string[],
    notebooks: INotebookTracker,
    replay?: ExchangePlace
  ) {
    super();
    this.addClass('mosaic-run-tab');
    this.node.dataset.mosaicRuns = runs.join(' ');
    this._method = method;
    this._replay = replay;
    this.source = source;
    this.runs = runs;
    this._notebooks = notebooks;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    const endings = [
      this.source.onStatus(() => void this._refresh()),
      this.source.subscribe(changes => this._noteRemoved(changes))
    ];
    this._unsubscribe = () => {
      for (const end of endings) end();
    };
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
      const starting = {
        panel: trans.__('Opening the panel …'),
        compare: trans.__('Starting the comparison …'),
        replay: trans.__('Replaying the episode …')
      };
      this._say(starting[this._method]);
      try {
        await this._make();
      } catch (reason) {
        this._kernel = null;
        this._say(messageOf(reason));
      }
    }
  }

  /** Request the widget from the source's kernel, and show it. Throws errors with messages for the user. */
  private async _make(): Promise<void> {
    const { source } = this;
    const { rendermime } = notebookOf(source, this._notebooks).content;
    const { model_id } = await this._requested();
    const renderer = rendermime.createRenderer(WIDGET_VIEW);
    const close = () => void source.call('close', { model_id }).catch(() => {}); // both may be gone
    if (this.isDisposed) {
      close();
      return;
    }
    renderer.disposed.connect(close);
    this.addWidget(renderer);
    const data = { [WIDGET_VIEW]: { model_id, version_major: 2, version_minor: 0 } };
    await renderer.renderModel(rendermime.createModel({ data, trusted: true }));
    this._notice?.dispose();
  }

  private async _requested(): Promise<{ model_id: string }> {
    const { source, runs, _method: method, _replay: place } = this;
    if (method !== 'replay') return (await source.call(method, { runs: [...runs] })).result;
    const { operator = '', seed = null, episode = 0, step = 0 } = place ?? {};
    return (await source.call(method, { run: runs[0] ?? '', operator, seed, episode, step })).result;
  }

  /** Show a notice for removed runs, whose data the kernel's panel still shows. */
  private _noteRemoved({ rows, removed }: RowChanges): void {
    const before = this._removed.size;
    for (const { id } of rows) this._removed.delete(id);
    for (const id of removed.filter(run => this.runs.includes(run))) this._removed.add(id);
    if (this._removed.size !== before) {
      this._note?.dispose();
      this._note = this._removed.size ? noticeOf(this._removedText()) : undefined;
      if (this._note) this.insertWidget(0, this._note);
    }
  }

  private _removedText(): string {
    const { _removed: removed, runs } = this;
    return removed.size < runs.length
      ? trans._n('%1 of these runs was removed.', '%1 of these runs were removed.', removed.size)
      : trans._n(
          'The run was removed. This is what its panel showed:',
          'All %1 runs were removed. This is what their panel showed:',
          removed.size
        );
  }

  private _say(text: string): void {
    this._clear();
    this._notice = noticeOf(text);
    this.addWidget(this._notice);
  }

  private _clear(): void {
    for (const widget of [...this.widgets]) widget.dispose();
  }

  readonly source: RunSource;
  readonly runs: readonly string[];
  private readonly _method: PanelMethod;
  private readonly _replay: ExchangePlace | undefined;
  private readonly _notebooks: INotebookTracker;
  private readonly _removed = new Set<string>();
  private _note: Widget | undefined;
  /** The current activity, or the reason why nothing is shown. */
  private _notice: Widget | undefined;
  /** The kernel that created the content. */
  private _kernel: string | null = null;
  private _unsubscribe: (() => void) | undefined;
}

function noticeOf(text: string): Widget {
  const notice = document.createElement('p');
  notice.className = 'mosaic-run-notice';
  notice.setAttribute('role', 'status');
  notice.textContent = text;
  return new Widget({ node: notice });
}

/** The notebook of the source's kernel, whose widget manager has the kernel's widgets. */
function notebookOf(source: RunSource, notebooks: INotebookTracker): NotebookPanel {
  const notebook = notebooks.find(
    panel => source.kernelId !== null && panel.sessionContext.session?.kernel?.id === source.kernelId
  );
  if (!notebook) throw new Error(source.whyNot);
  return notebook;
}
