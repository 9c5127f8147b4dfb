/** The commands of the tool bar above the runs, and of the context menu of a run. */

import type { Menu } from '@lumino/widgets';

import { CommandIDs } from '../tokens.ts';

export const TOOL_BAR: readonly string[] = [
  CommandIDs.openRunPanel,
  CommandIDs.openInWorkspace,
  CommandIDs.compareRuns,
  CommandIDs.stopRuns,
  CommandIDs.renameRun,
  CommandIDs.tagRuns,
  CommandIDs.removeRuns
];

const GROUPS: readonly (readonly string[])[] = [
  [CommandIDs.openRunPanel, CommandIDs.openInWorkspace, CommandIDs.compareRuns, CommandIDs.showLog],
  [CommandIDs.stopRuns, CommandIDs.resumeRun],
  [CommandIDs.renameRun, CommandIDs.tagRuns, CommandIDs.noteRun],
  [CommandIDs.openRunFolder, CommandIDs.copyRunId, CommandIDs.copyRunCode],
  [CommandIDs.removeRuns]
];

/** Add the items of a run's menu, in groups. */
export function fillMenu(add: (item: Menu.IItemOptions & { rank: number }) => void): void {
  GROUPS.forEach((group, index) => {
    if (index) add({ type: 'separator', rank: 10 * index - 5 });
    for (const command of group) add({ command, rank: 10 * index });
  });
}

/** Show in an open menu why its items are disabled, as their commands' captions say: Lumino's menus show no captions. */
export function explainDisabled(menu: Pick<Menu, 'items' | 'contentNode'>): void {
  menu.items.forEach(({ isEnabled, caption }, index) => {
    const node = menu.contentNode.children[index];
    if (node && !isEnabled && caption) node.setAttribute('title', caption);
  });
}
