/** Plugins: commands that open the panel of a cell's runs in a tab, and the run store of the current notebook. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { trans } from '../views/translation.ts';
import { runsIcon } from './icons.ts';
import { pathInServer } from './server-path.ts';
import { runsOfCell } from './shown-runs.ts';
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
      return cell ? runsOfCell(cell) : [];
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

export const runStorePlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:run-store',
  description: 'Adds the command that opens the run store of the current notebook.',
  autoStart: true,
  requires: [IRunFollower],
  optional: [IDefaultFileBrowser],
  activate: (app: JupyterFrontEnd, follower: IRunFollower, fileBrowser: IDefaultFileBrowser | null) => {
    const show = (body: string) =>
      showDialog({ title: trans.__('Run store'), body, buttons: [Dialog.okButton()] });

    app.commands.addCommand(CommandIDs.openRunStore, {
      label: trans.__('Open run store'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: async () => {
        const store = follower.status?.store;
        if (store === undefined) {
          await show(
            trans.__('The current notebook has no run store yet: run mosaic_lab.Lab() in one of its cells.')
          );
          return;
        }
        const folder = pathInServer(store);
        if (folder === null || !fileBrowser) {
          await show(trans.__('The runs are in %1, outside the folders that the file browser shows.', store));
          return;
        }
        await fileBrowser.model.cd(`/${folder}`);
        app.shell.activateById(fileBrowser.id);
      }
    });
  }
};
