/**
 * Plugin: adds our commands to the command palette and the launcher. A command is added once its own plugin,
 * which may load later or be disabled, has registered it.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';

import { CATEGORY, CommandIDs, IN_PALETTE } from './tokens.ts';

const CARDS: readonly string[] = [
  CommandIDs.showRuns,
  CommandIDs.openWorkspace,
  CommandIDs.newTraining,
  CommandIDs.newEvaluation,
  CommandIDs.newComparison
];
const LISTED: readonly string[] = [
  ...CARDS,
  CommandIDs.openRunStore,
  CommandIDs.findStores,
  CommandIDs.openRunPanel,
  CommandIDs.openInWorkspace,
  CommandIDs.stopRuns
];

export const entriesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:entries',
  description: 'Lists the commands of MOSAIC Lab in the command palette and in the launcher.',
  autoStart: true,
  optional: [ICommandPalette, ILauncher],
  activate: ({ commands }: JupyterFrontEnd, palette: ICommandPalette | null, launcher: ILauncher | null) => {
    const addEntry = (command: string) => {
      const rank = LISTED.indexOf(command);
      if (rank >= 0) palette?.addItem({ command, category: CATEGORY, rank, args: { [IN_PALETTE]: true } });
      if (CARDS.includes(command)) launcher?.add({ command, category: CATEGORY, rank });
    };
    for (const command of LISTED.filter(command => commands.hasCommand(command))) addEntry(command);
    commands.commandChanged.connect((_, { id, type }) => {
      if (type === 'added' && id !== undefined) addEntry(id);
    });
  }
};
