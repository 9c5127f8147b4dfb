/**
 * The MOSAIC extension: the list of its plugins.
 */

import { cellMenuPlugin } from './cell-menu.ts';
import { entriesPlugin } from './entries.ts';
import { followerPlugin } from './follower.ts';
import { formsPlugin } from './forms/forms.tsx';
import { markPlugin } from './mark.ts';
import { notificationsPlugin } from './notifications.ts';
import { runStorePlugin } from './run-store.ts';
import { runWatchPlugin } from './run-watch.ts';
import { runsPanelPlugin } from './runs-panel/plugin.ts';
import { settingsPlugin } from './settings.ts';
import { sourcesPlugin } from './sources/plugin.ts';
import { statusBarPlugin } from './status-bar.ts';
import { telemetryFilePlugin } from './telemetry-file.ts';
import { workspacePlugin } from './workspace/plugin.ts';

export default [
  markPlugin,
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
