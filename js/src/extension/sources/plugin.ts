/** Plugin: the known run stores, and a `RunSource` for each. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { IRunFollower, IRunSources } from '../tokens.ts';
import { RunSources } from './run-sources.ts';
import { ServerTransport } from './server-transport.ts';

export const sourcesPlugin: JupyterFrontEndPlugin<IRunSources> = {
  id: 'mosaic-lab:run-sources',
  description: 'Provides the runs of open kernels and of the stores below the server’s folder.',
  autoStart: true,
  requires: [IRunFollower],
  provides: IRunSources,
  activate: (app: JupyterFrontEnd, follower: IRunFollower) => {
    const settings = app.serviceManager.serverSettings;
    const server = new ServerTransport(
      (path, init) =>
        ServerConnection.makeRequest(
          URLExt.join(settings.baseUrl, 'mosaic-lab', 'api', path),
          init,
          settings
        ),
      () => sources.onServer()
    );
    const sources = new RunSources(server);
    const update = () => sources.setKernels(follower.kernels, follower.awaited);
    follower.kernelsChanged.connect(update);
    update();
    void app.restored.then(() => sources.search());
    return sources;
  }
};
