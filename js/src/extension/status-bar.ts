/**
 * Plugin: "2 runs, 1 comparison alive" in the status bar, for all known run stores, with or without a kernel.
 * Hidden if no store is known. A click shows the runs.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { Widget } from '@lumino/widgets';
import { trans } from '../views/translation.ts';
import { CommandIDs, type IAlive, IRunWatch } from './tokens.ts';

export const statusBarPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:status-bar',
  description: 'Shows in the status bar how many runs are alive.',
  autoStart: true,
  requires: [IRunWatch],
  optional: [IStatusBar],
  activate: ({ commands }: JupyterFrontEnd, watch: IRunWatch, statusBar: IStatusBar | null) => {
    if (!statusBar) return;
    const click = () =>
      commands.hasCommand(CommandIDs.showRuns) ? CommandIDs.showRuns : CommandIDs.openRunStore;
    const item = textItem(() => void commands.execute(click()));
    const update = () => {
      const { alive, stores } = watch;
      const text = alive ? trans.__('%1 alive', counted(alive)) : '';
      if (item.node.textContent !== text) item.node.textContent = text;
      item.node.title = trans.__('Runs in %1 (click to show)', stores.join(', '));
    };
    watch.changed.connect(update);
    update();
    statusBar.registerStatusItem('mosaic-lab:runs-alive', {
      item,
      align: 'left',
      rank: 100,
      isActive: () => watch.alive !== null,
      activeStateChanged: watch.changed
    });
  }
};

/** "1 run, 2 comparisons": the nonzero counts, or "0 runs". */
function counted({ runs, evaluations, films, comparisons }: IAlive): string {
  const texts = [
    (runs > 0 || evaluations + films + comparisons === 0) && trans._n('%1 run', '%1 runs', runs),
    evaluations > 0 && trans._n('%1 evaluation', '%1 evaluations', evaluations),
    films > 0 && trans._n('%1 film', '%1 films', films),
    comparisons > 0 && trans._n('%1 comparison', '%1 comparisons', comparisons)
  ];
  return texts.filter(Boolean).join(', ');
}

/** A text in the status bar that can be clicked or activated by keyboard. */
function textItem(onChosen: () => void): Widget {
  const node = document.createElement('span');
  node.tabIndex = 0;
  node.setAttribute('role', 'button');
  node.addEventListener('click', onChosen);
  node.addEventListener('keydown', event => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      onChosen();
    }
  });
  const item = new Widget({ node });
  item.addClass('jp-StatusBar-TextItem');
  item.addClass('jp-mod-highlighted');
  item.addClass('mosaic-RunsAlive');
  return item;
}
