/**
 * Keeps a notebook's outputs in the state published by the kernel, so that the file contains what the page
 * shows.
 *
 * The kernel updates outputs by their display ids. JupyterLab knows the display ids of executions since the
 * page was loaded, and forgets them after a reload of the page or a restart of the kernel. Our outputs
 * therefore have their display id in their metadata: `{output}`, and in the caption of a panel also `{panel,
 * shows, ended}` (see `mosaic_lab/widgets/page/saved_form.py`). Updates are written into the notebook's model
 * here. The metadata are also reported to the kernel, for panels whose updates the kernel or this page may
 * have missed, and for panels removed from the notebook.
 *
 * JupyterLab's handling of outputs in its model is not public: checked on JupyterLab 4.6.6.
 */

import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputAreaModel } from '@jupyterlab/outputarea';
import { KernelMessage } from '@jupyterlab/services';
import { JSONExt, type JSONObject, type PartialJSONObject } from '@lumino/coreutils';

import type { KernelStatus } from './kernel-status.ts';

const METADATA = 'mosaic_lab';
const WIDGET_VIEW = 'application/vnd.jupyter.widget-view+json';
/** Class of a part of a panel whose kernel was restarted (`widgets/panel/header.tsx`). */
const CUT_OFF = '.mosaic-cut-off';
const LOOK_MS = 1000;
const MAX_REMOVED_OUTPUTS = 1000;

interface IOutput {
  readonly outputs: IOutputAreaModel;
  readonly index: number;
  readonly about: JSONObject;
  /** The cell's rendered node, if any. */
  readonly node: HTMLElement | undefined;
}

export class SavedOutputs {
  constructor(panel: NotebookPanel, kernel: KernelStatus) {
    this._panel = panel;
    this._kernel = kernel;
    panel.sessionContext.iopubMessage.connect((_, message) => {
      if (KernelMessage.isUpdateDisplayDataMsg(message)) this._update(message.content);
    });
    kernel.connected.connect(() => this._reportAll());
    panel.content.modelContentChanged.connect(() => {
      // At once: an output may be replaced before the next check.
      for (const { about } of this._captions()) this._present.add(about.output as string);
      this._timer ??= window.setTimeout(() => this._look(), LOOK_MS);
    });
    panel.disposed.connect(() => window.clearTimeout(this._timer));
  }

  private _update({ data, metadata, transient }: KernelMessage.IUpdateDisplayDataMsg['content']): void {
    const caption = metadata?.[METADATA] as JSONObject | undefined;
    if (caption === undefined || caption.output !== transient?.display_id) return;
    for (const { outputs, index } of this._ours(caption.output)) {
      const old = outputs.get(index);
      const value = { output_type: 'display_data', data, metadata };
      if (
        JSONExt.deepEqual(old.data, data as PartialJSONObject) &&
        JSONExt.deepEqual(old.metadata, metadata)
      ) {
        continue; // already updated by JupyterLab
      }
      if (WIDGET_VIEW in old.data && WIDGET_VIEW in data) {
        // Between two widgets, the view of the first would remain, hidden.
        outputs.set(index, { ...value, data: { 'text/html': '' } });
      }
      outputs.set(index, value);
    }
  }

  /** Report panels that may have changed unseen, and ended panels of a former kernel still on the page. */
  private _reportAll(): void {
    const panels = this._captions().filter(
      ({ about, node }) => about.ended !== true || node?.querySelector(CUT_OFF)
    );
    this._report({ panels: panels.map(({ about }) => about) });
  }

  /** Report panels removed since the last check (cleared, deleted, run again) and restored (undo, paste). */
  private _look(): void {
    this._timer = undefined;
    const captions = new Map(this._captions().map(({ about }) => [about.output as string, about]));
    const gone = [...this._present].filter(id => !captions.has(id));
    const back = new Map([...captions].filter(([id]) => this._gone.has(id)));
    this._present = new Set(captions.keys());
    for (const id of gone) this._gone.add(id);
    for (const id of back.keys()) this._gone.delete(id);
    for (const id of [...this._gone].slice(0, -MAX_REMOVED_OUTPUTS)) this._gone.delete(id);
    this._report({ gone, panels: [...back.values()] });
  }

  private _report(report: { gone?: string[]; panels: JSONObject[] }): void {
    if (report.gone?.length || report.panels.length) {
      this._kernel
        .report({ ...report })
        .catch(reason => console.debug('MOSAIC: the kernel heard no report:', reason));
    }
  }

  private _captions(): IOutput[] {
    return this._ours().filter(({ about }) => Array.isArray(about.panel));
  }

  /** Our outputs in the notebook, or those with one display id. */
  private _ours(id?: string): IOutput[] {
    const captioned: IOutput[] = [];
    const cells = this._panel.content.model?.cells ?? [];
    let position = 0;
    for (const cell of cells) {
      const node = this._panel.content.widgets[position++]?.node;
      if (cell.type !== 'code') continue;
      const { outputs } = cell as ICodeCellModel;
      for (let index = 0; index < outputs.length; index++) {
        const caption = outputs.get(index).metadata[METADATA] as JSONObject | undefined;
        if (caption && (id === undefined || caption.output === id))
          captioned.push({ outputs, index, about: caption, node });
      }
    }
    return captioned;
  }

  private readonly _panel: NotebookPanel;
  private readonly _kernel: KernelStatus;
  private readonly _gone = new Set<string>();
  private _present = new Set<string>();
  private _timer: number | undefined;
}
