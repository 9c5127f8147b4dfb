/** The names that the extension's plugins share: commands, and tokens of what one provides to others. */

import { Token } from '@lumino/coreutils';
import type { KernelOfStore } from '../shared/kernel-transport.ts';
import type { Axis, RunRow } from '../shared/run-api.ts';
import type { RunFollower } from './follower.ts';
import type { RunWatch } from './run-watch.ts';
import type { Settings } from './settings.ts';
import type { RunSources } from './sources/run-sources.ts';

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

export type ISettings = Settings;
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
export interface IKernelWithLab extends Pick<IRunStatus, 'stores' | 'version'> {
  readonly kernel: KernelOfStore;
}

export type IRunFollower = RunFollower;
export const IRunFollower = new Token<IRunFollower>(
  'mosaic-lab:IRunFollower',
  'Follows which kernels have a Lab, and on which run stores.'
);

export type IRunSources = RunSources;
export const IRunSources = new Token<IRunSources>(
  'mosaic-lab:IRunSources',
  'The run stores that the page knows, and how it reads them and acts on them.'
);

/** The number of live runs among all known runs; `films` are runs that make films. */
export interface IAlive {
  /** Trainings and other work of workers. */
  readonly runs: number;
  readonly evaluations: number;
  readonly films: number;
  readonly comparisons: number;
}

/** A run that has ended since this page saw it alive. */
export interface IEndedRun {
  readonly store: string;
  readonly row: RunRow;
  /** Number of runs of its group that are still alive. */
  readonly remaining: number;
}

export type IRunWatch = RunWatch;
export const IRunWatch = new Token<IRunWatch>(
  'mosaic-lab:IRunWatch',
  'Follows which runs are alive in the stores that the page knows, and which end.'
);
