/**
 * Plugin: "N runs alive" in the status bar, hidden for a kernel without a `Lab`. A click opens the run store.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { CommandIDs, IRunFollower } from './tokens';

export const statusBarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:status-bar',
  description: 'Shows in the status bar how many runs are alive.',
  autoStart: true,
  requires: [IRunFollower],
  optional: [IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    follower: IRunFollower,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ) => {
    if (!statusBar) {
      return;
    }
    const trans = (translator ?? nullTranslator).load('mosaic_lab');
    const item = textItem(() => void app.commands.execute(CommandIDs.openRunStore));
    follower.statusChanged.connect(() => {
      const { alive, store } = follower.status ?? { alive: 0, store: '' };
      item.node.textContent = trans._n('%1 run alive', '%1 runs alive', alive);
      item.node.title = trans.__('Runs in %1 (click to open)', store);
    });
    statusBar.registerStatusItem('mosaic-lab:runs-alive', {
      item,
      align: 'left',
      rank: 100,
      isActive: () => follower.status !== null,
      activeStateChanged: follower.statusChanged
    });
  }
};

/** A text in the status bar that can be clicked, or chosen with the keyboard. */
function textItem(onChosen: () => void): Widget {
  const node = document.createElement('span');
  node.tabIndex = 0;
  node.setAttribute('role', 'button');
  node.addEventListener('click', onChosen);
  node.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      onChosen();
    }
  });
  const item = new Widget({ node });
  item.addClass('jp-StatusBar-TextItem');
  item.addClass('jp-mod-highlighted');
  item.addClass('mosaic-RunsAlive');
  return item;
}
