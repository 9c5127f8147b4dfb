import type { RunRow } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import type { CursorLink } from '../charts/chart-card.tsx';
import type { Results } from './settings.ts';
import type { WorkspaceState } from './state.ts';
import type { Runs } from './use-runs.ts';

/** The contents of a workspace, which its parts show, and the changes of its state. */
export interface Contents {
  readonly source: RunSource;
  readonly state: WorkspaceState;
  readonly change: (change: Partial<WorkspaceState>) => void;
  readonly onState: (change: (state: WorkspaceState) => WorkspaceState) => void;
  readonly runs: Runs;
  /** In the order of the table. */
  readonly rows: readonly RunRow[];
  /** Runs excluded by a filter. */
  readonly filtered: ReadonlySet<string>;
  /** The ids of the runs that are neither hidden nor filtered out, in the order of the table. */
  readonly visible: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly colorOf: (run: string) => string;
  readonly metrics: readonly string[];
  readonly results: Results;
  /** The settings in which the runs differ. */
  readonly settings: readonly string[];
  readonly link: CursorLink;
}
