/**
 * The MOSAIC extension: the list of its plugins.
 */

import { followerPlugin } from './follower.ts';
import { runStorePlugin } from './run-store.ts';
import { sourcesPlugin } from './sources/plugin.ts';
import { statusBarPlugin } from './status-bar.ts';

export default [followerPlugin, sourcesPlugin, statusBarPlugin, runStorePlugin];
