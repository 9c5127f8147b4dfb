/** What both ways to a run store have in common: a kernel's comm, and Jupyter's server. */

import type { Answer, Changes, Method, Methods } from './run-api.ts';

/** There is no answer because nothing is there to give one: another way may have it. Other errors are answers. */
export class Unreachable extends Error {}

export interface Transport {
  /** Rejects with `Unreachable`, or with an error whose message is for the user. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>>;

  /** Have changes sent, all rows first, until the function that is returned is called. */
  follow(listener: (changes: Changes) => void): () => void;
}

/** What only a kernel does. */
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

/** What to wait before the next try: longer each time, up to `most` milliseconds. */
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
