/** The commands for runs. Each takes `{store, runs: ids}`; by default it applies to the panel's selection. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { showErrorMessage } from '@jupyterlab/apputils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { messageOf } from '../../shared/transport.ts';
import * as reasons from '../../views/runs/reasons.ts';
import { type Action, runActions } from '../../views/runs/run-actions.ts';
import type { RunTable } from '../../views/runs/run-table.ts';
import { bySource, type Target, targetsOf } from '../../views/runs/targets.ts';
import { trans } from '../../views/translation.ts';
import { chartedRuns } from '../../views/workspace/state.ts';
import { pathInServer } from '../server-path.ts';
import { CommandIDs, IN_PALETTE, type IRunSources } from '../tokens.ts';
import { labDialogs } from './dialogs.tsx';
import type { RunTabs } from './tabs.ts';

export interface RunCommand extends Action {
  readonly id: string;
  /** Label in the command palette, which gives no other context. */
  readonly paletteLabel?: string;
}

export interface CommandContext {
  readonly app: JupyterFrontEnd;
  readonly table: RunTable;
  readonly sources: IRunSources;
  readonly tabs: RunTabs;
  readonly fileBrowser: IDefaultFileBrowser | null;
}

export function runCommands({ app, table, tabs, fileBrowser }: CommandContext): RunCommand[] {
  const actions = runActions(table, labDialogs);
  const first = (targets: readonly Target[]) => targets[0] as Target;
  return [
    {
      id: CommandIDs.openRunPanel,
      label: trans.__('Open live panel'),
      paletteLabel: trans.__('Open the live panel of the selected runs'),
      icon: 'open',
      whyNot: reasons.panel,
      run: targets => tabs.openPanel(targets)
    },
    {
      id: CommandIDs.openInWorkspace,
      label: trans.__('Open in the workspace'),
      paletteLabel: trans.__('Open charts of the selected runs'),
      icon: 'workspace',
      whyNot: reasons.workspace,
      run: async targets => {
        const [store] = bySource(targets).keys();
        await app.commands.execute(CommandIDs.openWorkspace, {
          store: store?.store,
          runs: chartedRuns(
            targets.map(({ id }) => id),
            table.entries.filter(entry => entry.store === store?.store).map(({ row }) => row)
          )
        });
      }
    },
    {
      id: CommandIDs.compareRuns,
      label: trans.__('Compare side by side'),
      icon: 'compare',
      whyNot: reasons.compare,
      run: targets => tabs.openComparison(targets)
    },
    {
      id: CommandIDs.showLog,
      label: trans.__('Show log'),
      icon: 'log',
      whyNot: reasons.readOne,
      run: targets => tabs.openLog(first(targets))
    },
    { id: CommandIDs.stopRuns, ...actions.stop, paletteLabel: trans.__('Stop the selected runs') },
    { id: CommandIDs.resumeRun, ...actions.resume },
    { id: CommandIDs.renameRun, ...actions.rename },
    { id: CommandIDs.tagRuns, ...actions.tag },
    { id: CommandIDs.noteRun, ...actions.note },
    { id: CommandIDs.removeRuns, ...actions.remove },
    {
      id: CommandIDs.openRunFolder,
      label: trans.__('Open folder'),
      icon: 'folder',
      whyNot: targets => {
        const [target] = targets;
        const folder = target && pathInServer(`${target.source.store}/${target.id}`);
        return (
          reasons.one(targets) ||
          (folder === null || !fileBrowser
            ? trans.__(
                'The folder is outside those that the file browser shows: %1',
                target?.source.store ?? ''
              )
            : '')
        );
      },
      run: async targets => {
        const { source, id } = first(targets);
        await fileBrowser?.model.cd(`/${pathInServer(`${source.store}/${id}`)}`);
        app.shell.activateById(fileBrowser?.id ?? '');
      }
    },
    { id: CommandIDs.copyRunId, ...actions.copyId },
    { id: CommandIDs.copyRunCode, ...actions.copyCode }
  ];
}

/** Register the commands with JupyterLab. Commands that are not possible are disabled, with the reason. */
export function addRunCommands(commands: readonly RunCommand[], context: CommandContext): void {
  const { app, table, sources } = context;
  const targets = (args: object) => targetsOf(args, table, store => sources.source(store));
  for (const { id, label, paletteLabel = label, whyNot, run } of commands) {
    app.commands.addCommand(id, {
      label: args => (args[IN_PALETTE] ? paletteLabel : label),
      caption: args => whyNot(targets(args)),
      // JupyterLab's palette hides disabled commands: there, a command shows the reason when it is chosen.
      isEnabled: args => Boolean(args[IN_PALETTE]) || whyNot(targets(args)) === '',
      describedBy: {
        args: {
          type: 'object',
          properties: {
            store: { type: 'string', description: trans.__('The folder of the run store') },
            runs: { type: 'array', items: { type: 'string' }, description: trans.__('Ids of runs') }
          }
        }
      },
      execute: async args => {
        const selected = targets(args);
        const hindrance = args[IN_PALETTE] ? whyNot(selected) : '';
        try {
          if (hindrance) throw new Error(hindrance);
          await run(selected);
        } catch (reason) {
          await showErrorMessage(label.replace(' …', ''), messageOf(reason));
        }
      }
    });
  }
  const changed = () => {
    for (const { id } of commands) app.commands.notifyCommandChanged(id);
  };
  table.subscribe(changed);
  sources.changed.connect(changed);
}
