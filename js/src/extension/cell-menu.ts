/** Plugin: the command in the context menu of a cell that opens the panel of its runs in a tab. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker } from '@jupyterlab/notebook';
import { trans } from '../views/translation.ts';
import { runsShown } from './cell-runs.ts';
import { runsIcon } from './icons.ts';
import { CommandIDs, IRunFollower } from './tokens.ts';

export const cellMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:cell-menu',
  description: 'Adds the command that opens the panel of a cell’s runs in a tab.',
  autoStart: true,
  requires: [INotebookTracker, IRunFollower],
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker, follower: IRunFollower) => {
    /** The ids of the runs below the clicked cell, otherwise below the active one. */
    const runs = (): string[] => {
      const cells = tracker.currentWidget?.content;
      const node = app.contextMenuHitTest(candidate => candidate.classList.contains('jp-CodeCell'));
      const cell = cells?.widgets.find(widget => widget.node === node) ?? cells?.activeCell;
      if (cell?.model.type !== 'code') {
        return [];
      }
      const { outputs } = (cell as CodeCell).model;
      return runsShown(Array.from({ length: outputs.length }, (_, index) => outputs.get(index).metadata));
    };

    app.commands.addCommand(CommandIDs.openCellRun, {
      label: () =>
        trans._n('Open this run’s panel in a tab', 'Open the panel of these runs in a tab', runs().length),
      icon: runsIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      isVisible: () => app.commands.hasCommand(CommandIDs.openRunPanel) && runs().length > 0,
      isEnabled: () => follower.status !== null,
      execute: () =>
        app.commands.execute(CommandIDs.openRunPanel, { store: follower.status?.store, runs: runs() })
    });
  }
};
