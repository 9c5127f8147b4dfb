/**
 * What the extension's plugins share, and the names other extensions may use.
 */

import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';

export const CommandIDs = {
  openRunStore: 'mosaic-lab:open-run-store'
} as const;

/** What a kernel with a `Lab` reports of its run store: how much of it has living processes, and where it is. */
export interface IRunStatus {
  /** Trainings and whatever else workers do. */
  readonly runs: number;

  readonly evaluations: number;

  readonly comparisons: number;

  /** The run store's folder, an absolute path on the kernel's machine. */
  readonly store: string;
}

/** Follows what the kernel of the notebook in front says; it is the kernel that speaks, nothing is polled. */
export interface IRunFollower {
  /** The status of the current notebook's kernel, null when that kernel has no `Lab`. */
  readonly status: IRunStatus | null;

  /** Emitted when `status` has changed, also when another notebook comes to the front. */
  readonly statusChanged: ISignal<IRunFollower, void>;
}

export const IRunFollower = new Token<IRunFollower>(
  'mosaic-lab:IRunFollower',
  'Follows what is alive in the run store of the current notebook.'
);
