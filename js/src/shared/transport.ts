/** The common interface of both transports to a run store: a kernel's comm, and Jupyter's server. */

import type { Answer, Changes, Method, Methods } from './run-api.ts';

/** Nothing is there to answer; another transport may answer. Other errors are answers. */
export class Unreachable extends Error {}

export interface Transport {
  /** Rejects with `Unreachable`, or with an error whose message is for the user. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>>;

  /** Send changes, all rows first, until the returned function is called. */
  follow(listener: (changes: Changes) => void): () => void;
}

/** Methods that only a kernel provides. */
export const ACTIONS: ReadonlySet<string> = new Set<Method>([
  'stop',
  'resume',
  'remove',
  'annotate',
  'panel',
  'compare',
  'close',
  'install',
  'check'
]);

/** The wait before the next attempt, increasing up to `most` milliseconds. */
export class BackOff {
  constructor(most: number) {
    this._most = most;
  }

  next(): number {
    const now = this._ms;
    this._ms = Math.min(2 * now, this._most);
    return now;
  }

  reset(): void {
    this._ms = 1000;
  }

  private readonly _most: number;
  private _ms = 1000;
}
