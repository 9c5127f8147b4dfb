/**
 * Plugin: keeps one `KernelStatus` per notebook, and provides that of the current notebook, together with the
 * notebook's `SavedOutputs`.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { KernelStatus } from './kernel-status.ts';
import { SavedOutputs } from './saved-outputs.ts';
import { type IKernelWithLab, IRunFollower, type IRunStatus } from './tokens.ts';

export class RunFollower {
  constructor(tracker: INotebookTracker) {
    this._tracker = tracker;
    tracker.forEach(panel => {
      this._add(panel);
    });
    tracker.widgetAdded.connect((_, panel) => this._add(panel));
    tracker.currentChanged.connect(() => this.statusChanged.emit());
  }

  /** The status of the current notebook's kernel, null if that kernel has no `Lab`. */
  get status(): IRunStatus | null {
    const panel = this._tracker.currentWidget;
    return (panel && this._kernels.get(panel)?.status) ?? null;
  }

  /** Emitted when `status` has changed, including after a switch to another notebook. */
  readonly statusChanged = new Signal<this, void>(this);

  /** The kernels with a `Lab` of all open notebooks. */
  get kernels(): readonly IKernelWithLab[] {
    return [...this._kernels.values()].flatMap(({ kernel, status }) =>
      kernel && status ? [{ kernel, stores: status.stores, version: status.version }] : []
    );
  }

  /** Notebooks whose kernels have been busy since the page connected, and may have a `Lab`. */
  get awaited(): readonly string[] {
    return [...this._kernels.values()].flatMap(kernel => (kernel.isAwaited ? [kernel.name] : []));
  }

  /** Emitted when `kernels`, the state of their connections, or `awaited` has changed. */
  readonly kernelsChanged = new Signal<this, void>(this);

  private _add(panel: NotebookPanel): void {
    const kernel = new KernelStatus(panel.sessionContext);
    this._kernels.set(panel, kernel);
    new SavedOutputs(panel, kernel);
    kernel.changed.connect(() => {
      this.kernelsChanged.emit();
      if (panel === this._tracker.currentWidget) this.statusChanged.emit();
    });
    panel.sessionContext.connectionStatusChanged.connect(() => this.kernelsChanged.emit());
    panel.disposed.connect(() => {
      this._kernels.delete(panel);
      this.kernelsChanged.emit();
    });
  }

  private readonly _tracker: INotebookTracker;
  private readonly _kernels = new Map<NotebookPanel, KernelStatus>();
}

export const followerPlugin: JupyterFrontEndPlugin<IRunFollower> = {
  id: 'mosaic-lab:run-follower',
  description: 'Follows which kernels of open notebooks have a Lab, and on which run stores.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: IRunFollower,
  activate: (_app: JupyterFrontEnd, tracker: INotebookTracker) => new RunFollower(tracker)
};
