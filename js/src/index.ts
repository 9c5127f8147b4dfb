/**
 * The MOSAIC extension: the list of its plugins.
 */

import { followerPlugin } from './follower';
import { runStorePlugin } from './runstore';
import { statusBarPlugin } from './statusbar';

export default [followerPlugin, statusBarPlugin, runStorePlugin];
