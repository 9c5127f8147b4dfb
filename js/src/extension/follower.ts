/**
 * Plugin: keeps one `KernelStatus` a notebook, and offers the one of the notebook in front. With it come the notebook's
 * `SavedOutputs`.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { type ISignal, Signal } from '@lumino/signaling';

import { KernelStatus } from './kernel-status.ts';
import { SavedOutputs } from './saved-outputs.ts';
import { IRunFollower, type IRunStatus } from './tokens.ts';

class RunFollower implements IRunFollower {
  constructor(tracker: INotebookTracker) {
    this._tracker = tracker;
    tracker.forEach(panel => {
      this._add(panel);
    });
    tracker.widgetAdded.connect((_, panel) => this._add(panel));
    tracker.currentChanged.connect(() => this._statusChanged.emit());
  }

  get status(): IRunStatus | null {
    const panel = this._tracker.currentWidget;
    return (panel && this._kernels.get(panel)?.status) ?? null;
  }

  get statusChanged(): ISignal<IRunFollower, void> {
    return this._statusChanged;
  }

  private _add(panel: NotebookPanel): void {
    const kernel = new KernelStatus(panel.sessionContext);
    this._kernels.set(panel, kernel);
    new SavedOutputs(panel, kernel);
    kernel.changed.connect(() => {
      if (panel === this._tracker.currentWidget) {
        this._statusChanged.emit();
      }
    });
    panel.disposed.connect(() => this._kernels.delete(panel));
  }

  private readonly _tracker: INotebookTracker;
  private readonly _kernels = new Map<NotebookPanel, KernelStatus>();
  private readonly _statusChanged = new Signal<this, void>(this);
}

export const followerPlugin: JupyterFrontEndPlugin<IRunFollower> = {
  id: 'mosaic-lab:run-follower',
  description: 'Follows what is alive in the run store of the current notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: IRunFollower,
  activate: (_app: JupyterFrontEnd, tracker: INotebookTracker) => new RunFollower(tracker)
};
