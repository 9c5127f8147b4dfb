/** The workspace as a tab of the main area; its state is stored by JupyterLab. */

import type { IStateDB } from '@jupyterlab/statedb';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { ReactElement } from 'react';

import { latestRows, type RunSource } from '../../shared/run-source.ts';
import { chartedRuns, restoredState, type WorkspaceState, withRuns } from '../../views/workspace/state.ts';
import { Workspace } from '../../views/workspace/workspace.tsx';
import { SavedState } from '../saved-state.ts';
import type { ISettings } from '../tokens.ts';

export class WorkspaceTab extends ReactWidget {
  constructor(source: RunSource, state: WorkspaceState, saved: SavedState) {
    super();
    this.addClass('mosaic-workspace-tab');
    this._source = source;
    this._state = state;
    this._saved = saved;
  }

  get source(): RunSource {
    return this._source;
  }

  /** Show these runs in the existing charts. */
  setRuns(runs: readonly string[]): void {
    this._change(state => withRuns(state, runs));
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this._saved.flush();
    super.dispose();
  }

  protected override render(): ReactElement {
    return <Workspace source={this._source} state={this._state} onState={this._change} />;
  }

  private readonly _change = (change: (state: WorkspaceState) => WorkspaceState): void => {
    const state = change(this._state);
    if (state === this._state) return;
    this._state = state;
    this._saved.save(state);
    this.update();
  };

  private readonly _source: RunSource;
  private readonly _saved: SavedState;
  private _state: WorkspaceState;
}

/** The tab of a workspace in its last state, or a new one for these runs. */
export async function openedTab(
  source: RunSource,
  name: string,
  runs: readonly string[] | null,
  states: IStateDB,
  settings: ISettings
): Promise<WorkspaceTab> {
  const saved = new SavedState(states, `mosaic-lab:workspace-state:${source.store}:${name}`);
  const remembered = await saved.fetch();
  const rememberedRuns = (remembered as { runs?: readonly string[] } | undefined)?.runs ?? [];
  const initialRuns = runs ?? (rememberedRuns.length ? rememberedRuns : await latestRuns(source));
  const initial = { version: 1, smoothing: settings.get('smoothing'), x: settings.get('x') };
  return new WorkspaceTab(source, restoredState(remembered ?? initial, initialRuns), saved);
}

const MAX_LATEST_RUNS = 50;

/** The runs of a workspace opened without a selection: the latest ones. */
async function latestRuns(source: RunSource): Promise<readonly string[]> {
  const rows = await latestRows(source);
  const latest = rows.map(({ id }) => id);
  return chartedRuns(latest, rows).slice(0, MAX_LATEST_RUNS);
}
