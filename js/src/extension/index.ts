/**
 * The MOSAIC extension: the list of its plugins.
 */

import { followerPlugin } from './follower.ts';
import { formsPlugin } from './forms/forms.tsx';
import { runStorePlugin } from './run-store.ts';
import { sourcesPlugin } from './sources/plugin.ts';
import { statusBarPlugin } from './status-bar.ts';

export default [followerPlugin, sourcesPlugin, statusBarPlugin, runStorePlugin, formsPlugin];
