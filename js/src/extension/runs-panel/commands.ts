/** The commands about runs. Each takes `{store, runs: ids}`; without these it is about what is selected in the panel. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard, showErrorMessage } from '@jupyterlab/apputils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { IconName } from '../../views/runs/icons.tsx';
import type { RunTable } from '../../views/runs/run-table.ts';
import { pathInServer } from '../server-path.ts';
import { CommandIDs, type IRunSources } from '../tokens.ts';
import { confirmRemoval, newName, newNotes, newTags } from './dialogs.ts';
import { type Reason, Reasons } from './reasons.ts';
import type { RunTabs } from './tabs.ts';
import { bySource, type Target, type TargetArgs, targetsOf, trialsOf } from './targets.ts';

export interface RunCommand {
  readonly id: string;
  readonly label: string;
  /** In the tool bar of the panel. */
  readonly icon?: IconName;
  readonly whyNot: Reason;
  readonly run: (targets: readonly Target[]) => Promise<void> | void;
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
      whyNot: reasons.readOne,
      run: targets => tabs.openLog(first(targets))
    },
    {
      id: CommandIDs.stopRuns,
      label: trans.__('Stop'),
      icon: 'stop',
      whyNot: reasons.stop,
      run: async targets => {
        for (const [source, runs] of bySource(targets.filter(({ row }) => row?.alive !== false))) {
          await source.call('stop', { runs });
        }
      }
    },
    {
      id: CommandIDs.resumeRun,
      label: trans.__('Resume'),
      whyNot: reasons.resume,
      run: async targets => {
        const { source, id } = first(targets);
        await source.call('resume', { run: id });
      }
    },
    {
      id: CommandIDs.renameRun,
      label: trans.__('Rename …'),
      icon: 'rename',
      whyNot: reasons.annotateOne,
      run: async targets => {
        const { source, id } = first(targets);
        const name = await newName(first(targets), trans);
        if (name !== null) {
          await source.call('annotate', { run: id, name });
        }
      }
    },
    {
      id: CommandIDs.tagRuns,
      label: trans.__('Tag …'),
      icon: 'tag',
      whyNot: reasons.annotate,
      run: async targets => {
        const tags = await newTags(targets, trans);
        for (const { source, id, row } of tags ? targets : []) {
          const others = targets.length > 1 ? (row?.tags ?? []) : [];
          await source.call('annotate', { run: id, tags: [...new Set([...others, ...(tags ?? [])])] });
        }
      }
    },
    {
      id: CommandIDs.noteRun,
      label: trans.__('Notes …'),
      whyNot: reasons.annotateOne,
      run: async targets => {
        const { source, id } = first(targets);
        const notes = await newNotes(first(targets), trans);
        if (notes !== null) {
          await source.call('annotate', { run: id, notes });
        }
      }
    },
    {
      id: CommandIDs.removeRuns,
      label: trans.__('Remove …'),
      icon: 'remove',
      whyNot: reasons.remove,
      run: async targets => {
        const confirmed = await confirmRemoval(targets, trialsOf(targets, table), trans);
        for (const [source, runs] of confirmed.accepted ? bySource(targets) : []) {
          await source.call('remove', { runs, trials: confirmed.trials });
        }
      }
    },
    {
      id: CommandIDs.openRunFolder,
      label: trans.__('Open folder'),
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
    {
      id: CommandIDs.copyRunId,
      label: trans.__('Copy id'),
      whyNot: reasons.some,
      run: targets => Clipboard.copyToSystem(targets.map(({ id }) => id).join('\n'))
    },
    {
      id: CommandIDs.copyRunCode,
      label: trans.__('Copy the code to run it again'),
      whyNot: reasons.read,
      run: async targets => {
        const codes: string[] = [];
        for (const [source, runs] of bySource(targets)) {
          const { result } = await source.call('details', { runs });
          codes.push(...runs.flatMap(id => result.runs[id]?.code ?? []));
        }
        Clipboard.copyToSystem(codes.join('\n\n'));
      }
    }
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
