/** Plugin: the runs panel in the left area, and the commands for runs. */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { SidePanel } from '@jupyterlab/ui-components';
import type { AccordionPanel } from '@lumino/widgets';

import { onOpenRuns } from '../../shared/page-extension.ts';
import { RunTable } from '../../views/runs/run-table.ts';
import { trans } from '../../views/translation.ts';
import { runsIcon } from '../icons.ts';
import { SavedState } from '../saved-state.ts';
import { CommandIDs, IRunSources } from '../tokens.ts';
import { WorkersSection } from '../workers/workers.tsx';
import { addRunCommands, type CommandContext, runCommands } from './commands.ts';
import { explainDisabled, fillMenu } from './run-menu.ts';
import { RunsSection } from './runs-section.tsx';
import { RunTabs } from './tabs.ts';

const PANEL = 'mosaic-lab-runs';
const RUN = '.mosaic-runs-section .mosaic-runs-grid .mosaic-runs-line';

export const runsPanelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:runs-panel',
  description: 'Adds the panel of runs, and the commands about runs.',
  autoStart: true,
  requires: [IRunSources, INotebookTracker],
  optional: [IDefaultFileBrowser, ILayoutRestorer, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    sources: IRunSources,
    notebooks: INotebookTracker,
    fileBrowser: IDefaultFileBrowser | null,
    restorer: ILayoutRestorer | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const table = new RunTable();
    const tabs = new RunTabs(app, table, notebooks);
    const context: CommandContext = { app, table, sources, tabs, fileBrowser };
    const commands = runCommands(context);
    addRunCommands(commands, context);

    const panel = new SidePanel({ translator: translator ?? nullTranslator });
    panel.id = PANEL;
    panel.title.icon = runsIcon;
    panel.title.caption = trans.__('Runs');
    panel.node.setAttribute('role', 'region');
    panel.node.setAttribute('aria-label', trans.__('Runs'));
    const runs = new RunsSection({ table, sources, commands: app.commands, runCommands: commands });
    panel.addWidget(runs);
    panel.addWidget(new WorkersSection(sources));
    (panel.content as AccordionPanel).collapse(1);
    app.shell.add(panel, 'left', { rank: 250, type: 'MOSAIC' });
    if (restorer) {
      restorer.add(panel, PANEL);
      tabs.restore(restorer);
    }

    app.commands.addCommand(CommandIDs.showRuns, {
      label: trans.__('Show runs'),
      icon: runsIcon,
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => app.shell.activateById(PANEL)
    });
    app.commands.addCommand(CommandIDs.findStores, {
      label: trans.__('Look for new run stores'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => sources.search()
    });
    onOpenRuns(document, ({ view, replay, ...named }) => {
      if (replay) {
        tabs.openReplay(sources.source(named.store), named.runs, replay);
        return;
      }
      const command = view === 'panel' ? CommandIDs.openRunPanel : CommandIDs.openInWorkspace;
      void app.commands.execute(command, named);
    });
    fillMenu(item => app.contextMenu.addItem({ ...item, selector: RUN }));
    app.contextMenu.opened.connect(({ menu }) => explainDisabled(menu));
    if (state) void remember(table, runs, state);
  }
};

/** Restore the panel's last state on this page, and keep it from now on. */
async function remember(table: RunTable, section: RunsSection, states: IStateDB): Promise<void> {
  const saved = new SavedState(states, 'mosaic-lab:runs-table');
  const remembered = await saved.fetch();
  if (remembered !== undefined) table.restore(remembered);
  const { store } = (remembered ?? {}) as { store?: unknown };
  if (typeof store === 'string') section.choose(store);
  const save = () => saved.save({ ...table.saved, store: section.chosen });
  table.subscribe(save);
  section.changed.connect(save);
}
