/**
 * What the extension's plugins share, and the names other extensions may use.
 */

import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { ChannelKernel } from '../shared/kernel-channel.ts';
import type { Answer, Axis, Method, Methods, RunRow, RunSource } from '../shared/run-api.ts';

export const CommandIDs = {
  openRunStore: 'mosaic-lab:open-run-store',
  openCellRun: 'mosaic-lab:open-cell-run',
  showRuns: 'mosaic-lab:show-runs',
  findStores: 'mosaic-lab:find-run-stores',
  /** With `{store, runs: ids}`. */
  openRunPanel: 'mosaic-lab:open-run-panel',
  /** With `{store, runs: [id]}`. */
  showLog: 'mosaic-lab:show-log',
  /** With `{store?, runs?: ids, name?}`: charts of these runs in a tab; of the latest ones without `runs`. */
  openWorkspace: 'mosaic-lab:open-workspace',
  /** These and the following with `{store, runs: ids}`; without it they are about what is selected in the panel. */
  openInWorkspace: 'mosaic-lab:open-runs-in-workspace',
  compareRuns: 'mosaic-lab:compare-runs',
  stopRuns: 'mosaic-lab:stop-runs',
  resumeRun: 'mosaic-lab:resume-run',
  renameRun: 'mosaic-lab:rename-run',
  tagRuns: 'mosaic-lab:tag-runs',
  noteRun: 'mosaic-lab:note-run',
  removeRuns: 'mosaic-lab:remove-runs',
  openRunFolder: 'mosaic-lab:open-run-folder',
  copyRunId: 'mosaic-lab:copy-run-id',
  copyRunCode: 'mosaic-lab:copy-run-code',
  newTraining: 'mosaic-lab:new-training',
  newEvaluation: 'mosaic-lab:new-evaluation',
  newComparison: 'mosaic-lab:new-comparison'
} as const;

/** The argument that JupyterLab's commands have in the command palette. */
export const IN_PALETTE = 'isPalette';

/** The category of our commands in the command palette, and of our cards in the launcher. */
export const CATEGORY = 'MOSAIC Lab';

/** The user's settings of the extension; `js/schema/settings.json` declares them. */
export interface IMosaicSettings {
  /** Which ended runs to notify about. */
  readonly notifications: 'all' | 'failures' | 'none';
  /** What new workspaces begin with. */
  readonly smoothing: number;
  readonly x: Axis;
}

/** Provides the settings. */
export interface ISettings {
  /** The user's choice, else the default. */
  get<Name extends keyof IMosaicSettings>(name: Name): IMosaicSettings[Name];

  /** Emitted when the user has changed something. */
  readonly changed: ISignal<ISettings, void>;
}

export const ISettings = new Token<ISettings>('mosaic-lab:ISettings', 'The settings of MOSAIC Lab.');

/** What a kernel with a `Lab` reports of its run store: how much of it has living processes, and where it is. */
export interface IRunStatus {
  /** Trainings and whatever else workers do. */
  readonly runs: number;

  readonly evaluations: number;

  readonly comparisons: number;

  /** The run store's folder, an absolute path on the kernel's machine: that of the latest `Lab`. */
  readonly store: string;

  /** The stores of all its `Lab`s. */
  readonly stores: readonly string[];

  /** The version of the kernel's package. */
  readonly version: string;
}

/** A kernel of an open notebook, and the run stores of its `Lab`s. */
export interface IKernelWithLab {
  readonly kernel: ChannelKernel;
  readonly stores: readonly string[];
  /** The version of its Python package. */
  readonly version: string;
}

/** Follows what the kernel of the notebook in front says; it is the kernel that speaks, nothing is polled. */
export interface IRunFollower {
  /** The status of the current notebook's kernel, null when that kernel has no `Lab`. */
  readonly status: IRunStatus | null;

  /** Emitted when `status` has changed, also when another notebook comes to the front. */
  readonly statusChanged: ISignal<IRunFollower, void>;

  /** The kernels of all open notebooks that have a `Lab`. */
  readonly kernels: readonly IKernelWithLab[];

  /** The notebooks whose kernels run a cell and have not said yet whether they have a `Lab`: the page came meanwhile. */
  readonly awaited: readonly string[];

  /** Emitted when `kernels`, the state of their connections, or `awaited` has changed. */
  readonly kernelsChanged: ISignal<IRunFollower, void>;
}

export const IRunFollower = new Token<IRunFollower>(
  'mosaic-lab:IRunFollower',
  'Follows what is alive in the run store of the current notebook.'
);

/** A run store that the page knows. */
export interface IRunStore {
  /** Its folder, an absolute path on the kernel's or the server's machine. */
  readonly path: string;

  /** Whether the kernel of an open notebook has a `Lab` on it. */
  readonly hasKernel: boolean;
}

/** How far an installation or a start is: a line of its log, and of which worker. */
export type Progress = Readonly<{ worker?: string; line?: string }>;

/** Where the page reads runs, and acts on them. */
export interface IRunSources {
  /** The stores of open kernels first, then those found below the server's folder, the latest changed first. */
  readonly stores: readonly IRunStore[];

  /** The sources of `stores`. */
  readonly sources: readonly RunSource[];

  /** Whether the server was searched for stores, with whatever result. */
  readonly searched: boolean;

  /** Sentences about what prevents that all is shown: what to install, to restart, to wait for. */
  readonly notices: readonly string[];

  /** Emitted when `stores`, `searched` or `notices` have changed. */
  readonly changed: ISignal<IRunSources, void>;

  /** Emitted with what a kernel says while it installs something. */
  readonly progressed: ISignal<IRunSources, Progress>;

  /** The source of a store, the same each time. The store need not be one of `stores`. */
  source(store: string): RunSource;

  /** Call a method that needs no store: `workers`, `forms`, `code`, and with a kernel `install` and `check`. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>>;

  /** Search for stores below the server's folder again. */
  search(): Promise<void>;

  /** Do so if the last search is long enough ago, for how long it took, that searching costs little. */
  searchNowAndThen(): void;
}

export const IRunSources = new Token<IRunSources>(
  'mosaic-lab:IRunSources',
  'The run stores that the page knows, and how it reads them and acts on them.'
);

/** How many of all known runs are alive. */
export interface IAlive {
  /** Trainings and whatever else workers do. */
  readonly runs: number;
  readonly evaluations: number;
  readonly comparisons: number;
}

/** A run that this page saw alive and that is no longer. */
export interface IEndedRun {
  readonly store: string;
  readonly row: RunRow;
  /** How many runs of its group are still alive. */
  readonly remaining: number;
}

/** Follows the runs of all stores that the page knows. */
export interface IRunWatch {
  /** Null while the page knows no store. */
  readonly alive: IAlive | null;

  /** The folders of the stores. */
  readonly stores: readonly string[];

  /** Emitted when `alive` or `stores` may have changed. */
  readonly changed: ISignal<IRunWatch, void>;

  /** Emitted when a run has ended, once. */
  readonly ended: ISignal<IRunWatch, IEndedRun>;
}

export const IRunWatch = new Token<IRunWatch>(
  'mosaic-lab:IRunWatch',
  'Follows which runs are alive in the stores that the page knows, and which end.'
);
