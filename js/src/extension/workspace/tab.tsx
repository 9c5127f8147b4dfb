/** The workspace as a tab of the main area; its state is stored by JupyterLab. */

import type { IStateDB } from '@jupyterlab/statedb';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { JSONObject } from '@lumino/coreutils';
import type { ReactElement } from 'react';

import { latestRows, type RunSource } from '../../shared/run-source.ts';
import { chartedRuns, restoredState, type WorkspaceState, withRuns } from '../../views/workspace/state.ts';
import { Workspace } from '../../views/workspace/workspace.tsx';
import type { ISettings } from '../tokens.ts';

const SAVE_MS = 300;

export class WorkspaceTab extends ReactWidget {
  constructor(source: RunSource, state: WorkspaceState, save: (state: WorkspaceState) => void) {
    super();
    this.addClass('mosaic-workspace-tab');
    this._source = source;
    this._state = state;
    this._save = save;
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
    this._flush();
    super.dispose();
  }

  protected override render(): ReactElement {
    return <Workspace source={this._source} state={this._state} onState={this._change} />;
  }

  private readonly _change = (change: (state: WorkspaceState) => WorkspaceState): void => {
    const state = change(this._state);
    if (state === this._state) return;
    this._state = state;
    this._timer ??= setTimeout(() => this._flush(), SAVE_MS);
    this.update();
  };

  private _flush(): void {
    if (this._timer === undefined) return;
    clearTimeout(this._timer);
    this._timer = undefined;
    this._save(this._state);
  }

  private readonly _source: RunSource;
  private readonly _save: (state: WorkspaceState) => void;
  private _state: WorkspaceState;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}

/** The key under which a workspace's state is stored. */
function stateKey(store: string, name: string): string {
  return `mosaic-lab:workspace-state:${store}:${name}`;
}

/** The tab of a workspace in its last state, or a new one for these runs. */
export async function openedTab(
  source: RunSource,
  name: string,
  runs: readonly string[] | null,
  states: IStateDB,
  settings: ISettings
): Promise<WorkspaceTab> {
  const key = stateKey(source.store, name);
  const remembered = await states.fetch(key);
  const known = (remembered as { runs?: readonly string[] } | undefined)?.runs ?? [];
  const shown = runs ?? (known.length ? known : await latestRuns(source));
  const save = (state: WorkspaceState) => {
    states.save(key, state as unknown as JSONObject).catch(reason => console.warn('MOSAIC:', reason));
  };
  const initial = { version: 1, smoothing: settings.get('smoothing'), x: settings.get('x') };
  return new WorkspaceTab(source, restoredState(remembered ?? initial, shown), save);
}

const MOST_LATEST = 50;

/** The runs of a workspace opened without a selection: the latest ones. */
async function latestRuns(source: RunSource): Promise<readonly string[]> {
  const rows = await latestRows(source);
  const latest = rows.map(({ id }) => id);
  return chartedRuns(latest, rows).slice(0, MOST_LATEST);
}
