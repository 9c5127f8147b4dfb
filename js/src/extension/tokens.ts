/** Tokens shared by the extension's plugins, also available to other extensions. */

import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { KernelOfStore } from '../shared/kernel-transport.ts';
import type { Answer, Axis, Method, Methods, Progress, RunRow } from '../shared/run-api.ts';
import type { RunSource } from '../shared/run-source.ts';

export const CommandIDs = {
  openRunStore: 'mosaic-lab:open-run-store',
  openCellRun: 'mosaic-lab:open-cell-run',
  showRuns: 'mosaic-lab:show-runs',
  findStores: 'mosaic-lab:find-run-stores',
  /** With `{store, runs: ids}`. */
  openRunPanel: 'mosaic-lab:open-run-panel',
  /** With `{store, runs: [id]}`. */
  showLog: 'mosaic-lab:show-log',
  /** With `{store?, runs?: ids, name?}`: charts of these runs in a tab; by default, of the latest runs. */
  openWorkspace: 'mosaic-lab:open-workspace',
  /** This and the following take `{store, runs: ids}`; by default they apply to the panel's selection. */
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

/** The argument with which JupyterLab calls commands in the command palette. */
export const IN_PALETTE = 'isPalette';

/** The category of our commands in the command palette, and of our cards in the launcher. */
export const CATEGORY = 'MOSAIC Lab';

/** The user's settings of the extension; `js/schema/settings.json` declares them. */
export interface IMosaicSettings {
  /** Which ended runs to notify about. */
  readonly notifications: 'all' | 'failures' | 'none';
  /** The initial smoothing of new workspaces. */
  readonly smoothing: number;
  readonly x: Axis;
}

/** Provides the settings. */
export interface ISettings {
  /** The user's choice, otherwise the default. */
  get<Name extends keyof IMosaicSettings>(name: Name): IMosaicSettings[Name];

  /** Emitted when the user has changed a setting. */
  readonly changed: ISignal<ISettings, void>;
}

export const ISettings = new Token<ISettings>('mosaic-lab:ISettings', 'The settings of MOSAIC Lab.');

/** A kernel's report on its run stores. */
export interface IRunStatus {
  /** The folder of the latest `Lab`'s run store, an absolute path on the kernel's machine. */
  readonly store: string;

  /** The stores of all its `Lab`s. */
  readonly stores: readonly string[];

  /** The version of the kernel's package. */
  readonly version: string;
}

/** A kernel of an open notebook, and the run stores of its `Lab`s. */
export interface IKernelWithLab {
  readonly kernel: KernelOfStore;
  readonly stores: readonly string[];
  /** The version of its Python package. */
  readonly version: string;
}

/** Follows the kernels of open notebooks. A kernel reports each new `Lab`; nothing is polled. */
export interface IRunFollower {
  /** The status of the current notebook's kernel, null if that kernel has no `Lab`. */
  readonly status: IRunStatus | null;

  /** Emitted when `status` has changed, including after a switch to another notebook. */
  readonly statusChanged: ISignal<IRunFollower, void>;

  /** The kernels with a `Lab` of all open notebooks. */
  readonly kernels: readonly IKernelWithLab[];

  /** Notebooks whose kernels have been busy since the page connected, and may have a `Lab`. */
  readonly awaited: readonly string[];

  /** Emitted when `kernels`, the state of their connections, or `awaited` has changed. */
  readonly kernelsChanged: ISignal<IRunFollower, void>;
}

export const IRunFollower = new Token<IRunFollower>(
  'mosaic-lab:IRunFollower',
  'Follows which kernels have a Lab, and on which run stores.'
);

/** The known run stores. */
export interface IRunSources {
  /** The stores of open kernels, then stores found below the server's folder, most recently changed first. */
  readonly sources: readonly RunSource[];

  /** Whether a search of the server has finished, successful or not. */
  readonly searched: boolean;

  /** Sentences about reasons for missing data: what to install, to restart or to wait for. */
  readonly notices: readonly string[];

  /** Emitted when `sources`, `searched` or `notices` have changed. */
  readonly changed: ISignal<IRunSources, void>;

  /** Emitted with a kernel's reports during an installation. */
  readonly progressed: ISignal<IRunSources, Progress>;

  /** The source of a store, always the same object. It need not be among `sources`. */
  source(store: string): RunSource;

  /** Call a method that needs no store: `workers`, `forms`, `code`, and with a kernel `install` and `check`. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>>;

  /** Search for stores below the server's folder again. */
  search(): Promise<void>;

  /** Search if the last search was long enough ago, relative to its duration, to keep the cost low. */
  searchNowAndThen(): void;
}

export const IRunSources = new Token<IRunSources>(
  'mosaic-lab:IRunSources',
  'The run stores that the page knows, and how it reads them and acts on them.'
);

/** The number of live runs among all known runs. */
export interface IAlive {
  /** Trainings and other work of workers. */
  readonly runs: number;
  readonly evaluations: number;
  readonly comparisons: number;
}

/** A run that has ended since this page saw it alive. */
export interface IEndedRun {
  readonly store: string;
  readonly row: RunRow;
  /** Number of runs of its group that are still alive. */
  readonly remaining: number;
}

/** Follows the runs of all known stores. */
export interface IRunWatch {
  /** Null if no store is known. */
  readonly alive: IAlive | null;

  /** The folders of the stores. */
  readonly stores: readonly string[];

  /** Emitted when `alive` or `stores` may have changed. */
  readonly changed: ISignal<IRunWatch, void>;

  /** Emitted once when a run has ended. */
  readonly ended: ISignal<IRunWatch, IEndedRun>;
}

export const IRunWatch = new Token<IRunWatch>(
  'mosaic-lab:IRunWatch',
  'Follows which runs are alive in the stores that the page knows, and which end.'
);
