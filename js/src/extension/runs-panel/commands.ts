/** The commands about runs. Each takes `{store, runs: ids}`; without these it is about what is selected in the panel. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { showErrorMessage } from '@jupyterlab/apputils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { TranslationBundle } from '@jupyterlab/translation';

import { Reasons } from '../../views/runs/reasons.ts';
import { type Action, runActions } from '../../views/runs/run-actions.ts';
import type { RunTable } from '../../views/runs/run-table.ts';
import { bySource, type Target } from '../../views/runs/targets.ts';
import { pathInServer } from '../server-path.ts';
import { CommandIDs, type IRunSources } from '../tokens.ts';
import { labDialogs } from './dialogs.ts';
import type { RunTabs } from './tabs.ts';
import { type TargetArgs, targetsOf } from './targets.ts';

export interface RunCommand extends Action {
  readonly id: string;
}

export interface CommandContext {
  readonly app: JupyterFrontEnd;
  readonly table: RunTable;
  readonly sources: IRunSources;
  readonly tabs: RunTabs;
  readonly fileBrowser: IDefaultFileBrowser | null;
  readonly trans: TranslationBundle;
}

export function runCommands({ app, table, tabs, fileBrowser, trans }: CommandContext): RunCommand[] {
  const reasons = new Reasons(trans);
  const actions = runActions(table, labDialogs, trans);
  const first = (targets: readonly Target[]) => targets[0] as Target;
  return [
    {
      id: CommandIDs.openRunPanel,
      label: trans.__('Open live panel'),
      icon: 'open',
      whyNot: reasons.panel,
      run: targets => tabs.openPanel(targets)
    },
    {
      id: CommandIDs.openInWorkspace,
      label: trans.__('Open in the workspace'),
      icon: 'workspace',
      whyNot: reasons.workspace,
      run: async targets => {
        const [store] = bySource(targets).keys();
        await app.commands.execute(CommandIDs.openWorkspace, {
          store: store?.store,
          runs: targets.map(({ id }) => id)
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
    { id: CommandIDs.stopRuns, ...actions.stop },
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

/** Make JupyterLab's commands of them, which are disabled, with the reason, where they cannot be done. */
export function addRunCommands(commands: readonly RunCommand[], context: CommandContext): void {
  const { app, table, sources, trans } = context;
  const targets = (args: object) => targetsOf(args as TargetArgs, table, sources);
  for (const { id, label, whyNot, run } of commands) {
    app.commands.addCommand(id, {
      label,
      caption: args => whyNot(targets(args)),
      isEnabled: args => whyNot(targets(args)) === '',
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
        try {
          await run(targets(args));
        } catch (reason) {
          await showErrorMessage(
            label.replace(' …', ''),
            reason instanceof Error ? reason.message : String(reason)
          );
        }
      }
    });
  }
  const changed = () => {
    for (const { id } of commands) {
      app.commands.notifyCommandChanged(id);
    }
  };
  table.subscribe(changed);
  sources.changed.connect(changed);
}
