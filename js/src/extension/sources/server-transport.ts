/**
 * Run stores read by the extension of Jupyter's server (`mosaic_lab/server`): all stores below its root
 * folder, without a kernel.
 */

import type { Changes, Method, Methods } from '../../shared/run-api.ts';
import { BackOff, type Follower, type Transport, Unreachable } from '../../shared/transport.ts';
import { trans } from '../../views/translation.ts';

const WAIT_SECONDS = 15;
/** Interval between two requests of a hidden page: it keeps no connection, and its data may be this old. */
const HIDDEN_MS = 5000;
/** Maximum interval between two attempts to reach a server. */
const MAX_PAUSE_MS = 5000;
/** A request for changes without an answer this long after it was due is sent again. */
const LATE_MS = 10_000;
/** Deadline of the first bytes of other answers: the server itself refuses what takes a minute. */
const DEADLINE_MS = 75_000;
/** Deadline of the rest of an answer, such as an export over a slow connection. */
const TRANSFER_MS = 600_000;
/** Deadline of a probe, which the server answers without reading a run store. */
const PROBE_MS = 8000;
/** Interval between attempts while no store can be read. */
const REFUSED_MS = 10_000;
export const VERSION_HEADER = 'X-Mosaic-Lab-Version';

/** Sends a request to the server's `mosaic-lab/api/…`; rejects if the server cannot be reached. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** The answer of `stores`. */
interface FoundStores {
  readonly stores: readonly { readonly path: string }[];
  /** Why there may be more stores; empty if the search was complete. */
  readonly cut_short: string;
  /** Duration of the search. */
  readonly seconds: number;
}

/** The answer of `follow`: changes by store, and the stores that cannot be read, with the reasons. */
interface Followed {
  readonly stores: Readonly<Record<string, Changes>>;
  readonly refused: Readonly<Record<string, string>>;
}

interface Content<T> {
  readonly result: T;
  readonly buffers: readonly ArrayBuffer[];
}

/** The state of the server. */
type ServerState =
  | { readonly kind: 'answers'; readonly version: string }
  /** `gone`: it cannot be connected to. `silent`: it accepts requests and does not answer them. */
  | { readonly kind: 'gone' | 'silent' | 'no-extension' | 'logged-out' };

export class ServerTransport {
  constructor(send: Send, onState: () => void, hidden: () => boolean = () => document.hidden) {
    this._send = send;
    this._onState = onState;
    this._hidden = hidden;
  }

  /** Null before the first answer. */
  get state(): ServerState | null {
    return this._state;
  }

  async stores(): Promise<FoundStores> {
    const { result } = await this._request<FoundStores>('stores', { method: 'GET' });
    return result;
  }

  /** The transport to a store; null for methods that need none. */
  to(store: string | null): Transport {
    return {
      call: <M extends Method>(method: M, params: Methods[M][0]) =>
        this._post<Methods[M][1]>({ store, method, params }),
      follow: follower => (store === null ? () => {} : this._follow(store, follower))
    };
  }

  private _follow(store: string, follower: Follower): () => void {
    this._followers.set(store, follower);
    this._renew.abort(); // the pending request does not include this store
    void this._watch();
    return () => {
      this._followers.delete(store);
      this._renew.abort();
    };
  }

  /** Follow all stores with one request: a browser opens at most six connections to a server. */
  private async _watch(): Promise<void> {
    if (this._watching) return;
    this._watching = true;
    const backOff = new BackOff(MAX_PAUSE_MS);
    while (this._followers.size) {
      this._renew = new AbortController();
      const { signal } = this._renew;
      const stores = Object.fromEntries([...this._followers].map(([store, { version }]) => [store, version]));
      const hidden = this._hidden();
      // Without a wait, a server that is back says so at once.
      const wait = hidden || this._away ? 0 : WAIT_SECONDS;
      try {
        const request = { method: 'follow', params: { stores }, wait };
        const { result } = await this._post<Followed>(request, 1000 * wait + LATE_MS, signal);
        backOff.reset();
        for (const [store, changes] of Object.entries(result.stores)) {
          const follower = this._followers.get(store);
          if (follower && follower.version === stores[store] && follower.version !== changes.version) {
            follower.take(changes);
          }
        }
        if (hidden) {
          await pause(HIDDEN_MS, signal);
        } else if (!Object.keys(result.stores).length) {
          await pause(REFUSED_MS, signal);
        }
      } catch (reason) {
        if (!signal.aborted) {
          console.debug('MOSAIC: run stores cannot be followed:', reason);
          do {
            await pause(backOff.next(), signal);
          } while (this._hidden() && !signal.aborted);
        }
      }
    }
    this._watching = false;
  }

  /** Look whether the server is back, while no store is followed through it. */
  private async _awaitReturn(): Promise<void> {
    const backOff = new BackOff(MAX_PAUSE_MS);
    const { signal } = new AbortController();
    while (this._away) {
      await pause(backOff.next(), signal);
      if (!this._watching && !this._hidden()) await this._probe();
    }
  }

  /** Send an empty request, which the server refuses at once, however busy the reader of its stores is. */
  private async _probe(): Promise<void> {
    if (this._probing) return;
    this._probing = true;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), PROBE_MS);
    try {
      this._note(await this._send('call', { method: 'POST', body: '{}', signal: late.signal }));
    } catch {
      this._set({ kind: late.signal.aborted ? 'silent' : 'gone' });
    }
    clearTimeout(timer);
    this._probing = false;
  }

  private _post<T>(request: object, deadline = DEADLINE_MS, renew?: AbortSignal): Promise<Content<T>> {
    return this._request('call', { method: 'POST', body: JSON.stringify(request) }, deadline, renew);
  }

  /**
   * Send a request that ends if no answer has begun after `deadline` milliseconds, or when `renew` aborts. The
   * server is silent only if it does not answer a probe either.
   */
  private async _request<T>(
    path: string,
    init: RequestInit,
    deadline = DEADLINE_MS,
    renew?: AbortSignal
  ): Promise<Content<T>> {
    const ended = new AbortController();
    const end = () => ended.abort();
    renew?.addEventListener('abort', end);
    let timer = setTimeout(() => {
      end();
      void this._probe();
    }, deadline);
    try {
      const response = await this._send(path, { ...init, signal: ended.signal }).catch(reason => {
        if (!ended.signal.aborted) this._set({ kind: 'gone' });
        throw new Unreachable(trans.__('Jupyter’s server cannot be reached: %1', (reason as Error).message));
      });
      clearTimeout(timer);
      timer = setTimeout(end, TRANSFER_MS);
      this._note(response);
      return await this._content<T>(response);
    } catch (reason) {
      throw ended.signal.aborted ? new Unreachable(trans.__('Jupyter’s server does not answer.')) : reason;
    } finally {
      clearTimeout(timer);
      renew?.removeEventListener('abort', end);
    }
  }

  /** Take the state of the server from its answer: one with a version is of mosaic-lab, else of Jupyter. */
  private _note({ ok, status, headers }: Response): void {
    const version = headers.get(VERSION_HEADER);
    if (ok || version !== null) {
      this._set({ kind: 'answers', version: version ?? '' });
    } else if (status === 404 || status === 403) {
      this._set({ kind: status === 404 ? 'no-extension' : 'logged-out' });
    }
  }

  private async _content<T>(response: Response): Promise<Content<T>> {
    if (response.ok) {
      return response.headers.get('Content-Type')?.startsWith('application/octet-stream')
        ? withBuffers(await response.arrayBuffer())
        : { ...((await response.json()) as { result: T }), buffers: [] };
    }
    const { status } = response;
    if ((status === 404 || status === 403) && response.headers.get(VERSION_HEADER) === null) {
      throw new Unreachable(this._refusal(status));
    }
    const { message } = (await response.json().catch(() => ({}))) as { message?: string };
    const text = message ?? trans.__('Jupyter’s server answered with status %1.', status);
    throw status >= 502 ? new Unreachable(text) : new Error(text);
  }

  private _refusal(status: 403 | 404): string {
    return status === 404
      ? trans.__(
          'Jupyter’s server has no mosaic-lab. Run mosaic_lab.Lab() in a notebook, or install it in the server’s environment (pip install mosaic-lab) and restart the server.'
        )
      : trans.__('Jupyter’s server no longer accepts this page: log in again, and reload it.');
  }

  /** Whether the server neither answers nor refuses. */
  private get _away(): boolean {
    return this._state?.kind === 'gone' || this._state?.kind === 'silent';
  }

  private _set(state: ServerState): void {
    const changed = JSON.stringify(state) !== JSON.stringify(this._state);
    const awaiting = this._away;
    this._state = state;
    if (changed) {
      this._onState();
      if (this._away && !awaiting) void this._awaitReturn();
    }
  }

  private readonly _send: Send;
  private readonly _onState: () => void;
  private readonly _hidden: () => boolean;
  private readonly _followers = new Map<string, Follower>();
  private _renew = new AbortController();
  private _watching = false;
  private _probing = false;
  private _state: ServerState | null = null;
}

/** An answer with binary parts: the length of the JSON as uint32, the JSON, the parts. */
function withBuffers<T>(content: ArrayBuffer): Content<T> {
  const length = new DataView(content).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(content, 4, length));
  const { result, buffers: lengths } = JSON.parse(text) as { result: T; buffers: number[] };
  let offset = 4 + length;
  const buffers: ArrayBuffer[] = [];
  for (const size of lengths) {
    buffers.push(content.slice(offset, offset + size));
    offset += size;
  }
  return { result, buffers };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
