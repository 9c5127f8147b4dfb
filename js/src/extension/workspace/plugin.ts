/** Plugin: the command that opens the charts of runs in a tab, restored after a reload. */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { type MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { IStateDB } from '@jupyterlab/statedb';
import { LabIcon } from '@jupyterlab/ui-components';
import { trans } from '../../views/translation.ts';
import { newTab, showTab } from '../show-tab.ts';
import { CommandIDs, IRunSources, ISettings } from '../tokens.ts';
import { openedTab, type WorkspaceTab } from './tab.tsx';

const NAME = 'workspace';

const icon = new LabIcon({
  name: 'mosaic-lab:workspace',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16"><g class="jp-icon3" style="fill:none" stroke="#616161" stroke-width="1.4"><path d="M2 2v12h12"/><path d="m4.5 10.5 3-4 2.5 2 3.5-5"/></g></svg>'
});

export const workspacePlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:workspace',
  description: 'Shows the charts of selected runs in a tab.',
  autoStart: true,
  requires: [IRunSources, IStateDB, ISettings],
  optional: [ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    sources: IRunSources,
    states: IStateDB,
    settings: ISettings,
    restorer: ILayoutRestorer | null
  ) => {
    const tracker = new WidgetTracker<MainAreaWidget<WorkspaceTab>>({ namespace: 'mosaic-lab-workspace' });
    const opening = new Map<string, Promise<MainAreaWidget<WorkspaceTab>>>();

    const open = async (store: string, name: string, runs: readonly string[] | null) => {
      const id = `mosaic-lab-workspace:${store}:${name}`;
      const openTab = tracker.find(widget => widget.id === id);
      if (openTab) {
        if (runs) openTab.content.setRuns(runs);
        return openTab;
      }
      const content = await openedTab(sources.source(store), name, runs, states, settings);
      const label = name === NAME ? trans.__('Runs of %1', shortened(store)) : name;
      const widget = newTab(content, id, { label, caption: store, icon });
      await tracker.add(widget);
      return widget;
    };

    app.commands.addCommand(CommandIDs.openWorkspace, {
      label: trans.__('Charts of runs'),
      caption: trans.__('Open the workspace: charts of the given runs, or of the latest ones of a store'),
      icon,
      isEnabled: ({ store }) => store !== undefined || sources.sources.length > 0,
      describedBy: {
        args: {
          type: 'object',
          properties: {
            store: { type: 'string', description: 'The absolute path of the run store' },
            runs: { type: 'array', items: { type: 'string' }, description: 'The ids of the runs' },
            name: { type: 'string', description: 'The name of the selection: one tab each' }
          }
        }
      },
      execute: async args => {
        const store = (args.store as string | undefined) ?? sources.sources[0]?.store;
        if (store === undefined) return;
        const name = (args.name as string | undefined) ?? NAME;
        const runs = (args.runs as readonly string[] | undefined) ?? null;
        const key = JSON.stringify([store, name]);
        const promise = opening.get(key) ?? open(store, name, runs).finally(() => opening.delete(key));
        opening.set(key, promise);
        const widget = await promise;
        showTab(app, widget);
      }
    });
    sources.changed.connect(() => app.commands.notifyCommandChanged(CommandIDs.openWorkspace));
    void restorer?.restore(tracker, {
      command: CommandIDs.openWorkspace,
      args: ({ content, id }) => ({
        store: content.source.store,
        name: id.slice(`mosaic-lab-workspace:${content.source.store}:`.length)
      }),
      name: ({ id }) => id
    });
  }
};

/** A store's last distinctive folder name: most stores have the same name. */
function shortened(store: string): string {
  return store.split('/').findLast(part => part !== '' && part !== 'mosaic_runs') ?? store;
}
