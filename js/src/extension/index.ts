/** The MOSAIC extension: the list of its plugins. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ITranslator } from '@jupyterlab/translation';

import { markPage } from '../shared/page-extension.ts';
import { setTranslation } from '../views/translation.ts';
import { entriesPlugin } from './entries.ts';
import { followerPlugin } from './follower.ts';
import { formsPlugin } from './forms/forms.tsx';
import { cellMenuPlugin, runStorePlugin } from './notebook-commands.ts';
import { notificationsPlugin } from './notifications.ts';
import { runWatchPlugin } from './run-watch.ts';
import { runsPanelPlugin } from './runs-panel/plugin.ts';
import { settingsPlugin } from './settings.ts';
import { sourcesPlugin } from './sources/plugin.ts';
import { statusBarPlugin } from './status-bar.ts';
import { telemetryFilePlugin } from './telemetry-file.ts';
import { workspacePlugin } from './workspace/plugin.ts';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  {
    id: 'mosaic-lab:mark',
    description: 'Provides the version of the extension to widgets.',
    autoStart: true,
    activate: () => markPage(document.body)
  },
  settingsPlugin,
  runWatchPlugin,
  notificationsPlugin,
  entriesPlugin,
  cellMenuPlugin,
  followerPlugin,
  sourcesPlugin,
  statusBarPlugin,
  runStorePlugin,
  formsPlugin,
  runsPanelPlugin,
  workspacePlugin,
  telemetryFilePlugin
];

/** The plugin with JupyterLab's translation: the first that is activated sets it for all. */
function translated(plugin: JupyterFrontEndPlugin<unknown>): JupyterFrontEndPlugin<unknown> {
  return {
    ...plugin,
    optional: [...(plugin.optional ?? []), ITranslator],
    activate: (app: JupyterFrontEnd, ...services: unknown[]) => {
      const translator = services.pop() as ITranslator | null;
      if (translator) setTranslation(translator.load('mosaic_lab'));
      return plugin.activate(app, ...services);
    }
  };
}

export default plugins.map(translated);
