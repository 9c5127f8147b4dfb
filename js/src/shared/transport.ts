/** The common interface of the transports to a run store: a kernel's comm, and Jupyter's server. */

import type { Answer, Changes, Method, Methods } from './run-api.ts';

/** Nothing is there to answer; another transport may answer. Other errors are answers. */
export class Unreachable extends Error {}

/** The message of whatever was thrown. */
export function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

/** Receives a store's changes. */
export interface Follower {
  /** The version of the rows received so far; 0 for none. */
  readonly version: number;
  take(changes: Changes): void;
}

export interface Transport {
  /** Rejects with `Unreachable`, or with an error whose message is for the user. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>>;

  /** Send the changes since the follower's version until the returned function is called. */
  follow(follower: Follower): () => void;
}

/** The wait before the next attempt, increasing up to `most` milliseconds. */
export class BackOff {
  constructor(capacity: number) {
    this._most = capacity;
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
