/**
 * Plugin: "2 runs, 1 comparison alive" in the status bar, hidden for a kernel without a `Lab`. A click opens the run store.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { CommandIDs, IRunFollower, type IRunStatus } from './tokens.ts';

export const statusBarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:status-bar',
  description: 'Shows in the status bar what of the current run store is alive.',
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
      const { status } = follower;
      item.node.textContent = status && trans.__('%1 alive', counted(status, trans));
      item.node.title = trans.__('Runs in %1 (click to open)', status?.store ?? '');
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

/** "1 run, 2 comparisons": what there is, or "0 runs". */
function counted({ runs, evaluations, comparisons }: IRunStatus, trans: TranslationBundle): string {
  const found = [
    (runs > 0 || evaluations + comparisons === 0) && trans._n('%1 run', '%1 runs', runs),
    evaluations > 0 && trans._n('%1 evaluation', '%1 evaluations', evaluations),
    comparisons > 0 && trans._n('%1 comparison', '%1 comparisons', comparisons)
  ];
  return found.filter(Boolean).join(', ');
}

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
