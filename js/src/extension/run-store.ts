/** Plugin: the command that shows the run store's folder in the file browser. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { trans } from '../views/translation.ts';
import { pathInServer } from './server-path.ts';
import { CommandIDs, IRunFollower } from './tokens.ts';

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
