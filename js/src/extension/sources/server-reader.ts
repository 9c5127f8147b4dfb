/**
 * Run stores through Jupyter's server, which reads them by an extension of its own (`mosaic_lab/server`): all that lie
 * below the folder that it serves, without any kernel.
 */

import type { Answer, Changes, Method, Methods } from '../../shared/run-api.ts';
import { BackOff, type Transport, Unreachable } from './transport.ts';

const WAIT_SECONDS = 25;
export const VERSION_HEADER = 'X-Mosaic-Lab-Version';

/** Sends a request to `mosaic-lab/api/…` of the server; rejects when the server cannot be reached. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

export interface FoundStore {
  readonly path: string;
  readonly runs: number;
  readonly changed: number;
}

export interface FoundStores {
  readonly stores: readonly FoundStore[];
  /** Why there may be more; empty when all was searched. */
  readonly cut_short: string;
  readonly root: string;
}

/** What is the matter with the server. */
export type ServerState =
  | { readonly kind: 'answers'; readonly version: string }
  | { readonly kind: 'gone' | 'no-extension' | 'logged-out' };

export class ServerReader {
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

  /** Null for what needs no store. */
  store(path: string | null): Transport {
    return {
      call: (method, params) => this._call(path, method, params),
      follow: listener => this._follow(path, listener)
    };
  }

  private _call<M extends Method>(
    store: string | null,
    method: M,
    params: Methods[M][0],
    wait = 0,
    signal?: AbortSignal
  ): Promise<Answer<M>> {
    const body = JSON.stringify({ store, method, params, wait });
    return this._request('call', { method: 'POST', body, ...(signal && { signal }) }) as Promise<Answer<M>>;
  }

  private _follow(store: string | null, listener: (changes: Changes) => void): () => void {
    const ended = new AbortController();
    const backOff = new BackOff();
    const loop = async () => {
      let version = 0;
      while (!ended.signal.aborted) {
        try {
          const wait = version ? WAIT_SECONDS : 0;
          const { result } = await this._call(store, 'changes', { version }, wait, ended.signal);
          backOff.reset();
          if (ended.signal.aborted) {
            return;
          }
          if (result.version !== version || !version) {
            listener(result);
          }
          version = result.version;
        } catch (reason) {
          if (!ended.signal.aborted) {
            console.debug(`MOSAIC: no changes of ${store}:`, reason);
            await this._pause(backOff.next(), ended.signal);
          }
        }
      }
    };
    void loop();
    return () => ended.abort();
  }

  /** Wait, and go on waiting while nobody sees the page. */
  private async _pause(ms: number, signal: AbortSignal): Promise<void> {
    do {
      await new Promise(resolve => setTimeout(resolve, ms));
    } while (this._hidden() && !signal.aborted);
  }

  private async _request<T>(
    path: string,
    init: RequestInit
  ): Promise<{ result: T; buffers: readonly ArrayBuffer[] }> {
    let response: Response;
    try {
      response = await this._send(path, init);
    } catch (reason) {
      if (!init.signal?.aborted) {
        this._set({ kind: 'gone' });
      }
      throw new Unreachable(`Jupyter's server cannot be reached: ${(reason as Error).message}`);
    }
    const version = response.headers.get(VERSION_HEADER);
    if (response.ok) {
      this._set({ kind: 'answers', version: version ?? '' });
      return response.headers.get('Content-Type')?.startsWith('application/octet-stream')
        ? withBuffers(await response.arrayBuffer())
        : { ...((await response.json()) as { result: T }), buffers: [] };
    }
    const { status } = response;
    if (status === 404 || status === 403) {
      this._set({ kind: status === 404 ? 'no-extension' : 'logged-out' });
      throw new Unreachable(`Jupyter's server answered with status ${status}`);
    }
    const { message } = (await response.json().catch(() => ({}))) as { message?: string };
    const text = message ?? `Jupyter's server answered with status ${status}`;
    throw status >= 502 ? new Unreachable(text) : new Error(text);
  }

  private _set(state: ServerState): void {
    const changed = JSON.stringify(state) !== JSON.stringify(this._state);
    this._state = state;
    if (changed) {
      this._onState();
    }
  }

  private readonly _send: Send;
  private readonly _onState: () => void;
  private readonly _hidden: () => boolean;
  private _state: ServerState | null = null;
}

/** An answer with binary parts: the length of the JSON as uint32, the JSON, the parts. */
function withBuffers<T>(content: ArrayBuffer): { result: T; buffers: ArrayBuffer[] } {
  const length = new DataView(content).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(content, 4, length));
  const { result, buffers: lengths } = JSON.parse(text) as { result: T; buffers: number[] };
  let at = 4 + length;
  const buffers: ArrayBuffer[] = [];
  for (const size of lengths) {
    buffers.push(content.slice(at, at + size));
    at += size;
  }
  return { result, buffers };
}
