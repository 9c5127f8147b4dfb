/** A fake kernel and a fake server that answer for a run store. */

import assert from 'node:assert/strict';
import { type Send, ServerTransport, VERSION_HEADER } from '../src/extension/sources/server-transport.ts';
import type { IKernelWithLab } from '../src/extension/tokens.ts';
import { VERSION } from '../src/shared/page-extension.ts';
import type { Changes, RunRow } from '../src/shared/run-api.ts';
import { FakeComm } from './page.ts';

export const STORE = '/runs/of/ada';
export type Kernel = IKernelWithLab['kernel'];

export interface Request {
  id: number;
  method: string;
  params: { version?: number };
}

/** A kernel that can answer, be silent, or close its comm. */
export class Peer {
  readonly id: string;
  connectionStatus = 'connected';
  silent = false;
  readonly requests: Request[] = [];
  readonly opened: unknown[] = [];
  rows: string[] = [];
  private late: Request[] = [];
  private comm: FakeComm<Request> | undefined;

  constructor(id: string, rows: string[]) {
    this.id = id;
    this.rows = rows;
  }

  createComm(): object {
    const comm = new FakeComm<Request>();
    comm.open = data => {
      this.opened.push(data);
      return {};
    };
    comm.send = data => {
      this.requests.push(data);
      if (this.silent) this.late.push(data);
      else this.answer(data);
      return { dispose: () => {} };
    };
    this.comm = comm;
    return comm;
  }

  wake(): void {
    this.silent = false;
    for (const request of this.late.splice(0)) this.answer(request);
  }

  push(changes: Partial<Changes>): void {
    this.comm?.say({ changes: { version: 2, rows: [], removed: [], ...changes } });
  }

  closeComm(): void {
    const comm = this.comm;
    assert.ok(comm);
    comm.isDisposed = true;
    comm.onClose();
  }

  private answer({ id, method, params }: Request): void {
    this.comm?.say({ id, taken: true });
    if (method === 'subscribe') {
      const whole = !params.version;
      if (whole) this.push({ version: 1, whole, rows: this.rows.map(row) });
    } else if (method === 'log') {
      this.comm?.say({ id, result: { text: `from ${this.id}` } });
    } else if (method === 'curves') {
      this.comm?.say({ id, result: { lines: [] } }, [new Float32Array([0, 1, 2]).subarray(1)]);
    } else if (method === 'stop') {
      this.comm?.say({ id, error: 'no such run' });
    }
  }
}

export function row(id: string): RunRow {
  return { id } as RunRow;
}

export function asKernel(peer: Peer): Kernel {
  return peer as unknown as Kernel;
}

export function json(body: object, status = 200, version = VERSION): Response {
  const headers = { 'Content-Type': 'application/json', [VERSION_HEADER]: version };
  return new Response(JSON.stringify(body), { status, headers });
}

/** A server that answers for one store. */
export class Served {
  status = 200;
  reachable = true;
  /** Whether requests are accepted but never answered, as by a suspended process. */
  suspended = false;
  hidden = false;
  version = VERSION;
  rows = ['a', 'b'];
  stores = [STORE, '/other'];
  cutShort = '';
  searches = 0;
  /** Number of requests that are waiting for changes. */
  waiting = 0;
  readonly calls: string[] = [];
  readonly transport = new ServerTransport(
    this.send.bind(this) as Send,
    () => {},
    () => this.hidden
  );

  async until(seconds: number, signal: AbortSignal | null | undefined): Promise<void> {
    this.waiting += 1;
    await new Promise<void>((resolve, reject) => {
      setTimeout(resolve, seconds * 1000);
      signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
    }).finally(() => {
      this.waiting -= 1;
    });
  }

  async send(path: string, init: RequestInit): Promise<Response> {
    if (!this.reachable) throw new TypeError('Failed to fetch');
    if (this.suspended) await this.until(1e6, init.signal);
    if (this.status !== 200) return new Response('<html>', { status: this.status });
    if (path === 'stores') {
      this.searches += 1;
      const stores = this.stores.map(path => ({ path }));
      const result = { stores, cut_short: this.cutShort, seconds: 0.05, root: '/' };
      return json({ result }, 200, this.version);
    }
    const { method, params, wait } = JSON.parse(String(init.body));
    if (!method) return json({ message: 'a request must name a "method"' }, 400, this.version);
    this.calls.push(method);
    if (method === 'follow') {
      const [store, version] =
        Object.entries(params.stores).sort((a, b) => Number(a[1]) - Number(b[1]))[0] ?? [];
      if (wait && version) await this.until(wait, init.signal);
      const rows = version ? [] : this.rows.map(row);
      return json({
        result: { stores: { [String(store)]: { version: 1, whole: !version, rows, removed: [] } } }
      });
    }
    if (method === 'curves') {
      const head = new TextEncoder().encode(JSON.stringify({ result: { lines: [] }, buffers: [4, 8] }));
      const content = new Uint8Array(4 + head.length + 12);
      new DataView(content.buffer).setUint32(0, head.length, true);
      content.set(head, 4);
      content.fill(7, 4 + head.length);
      return new Response(content, { headers: { 'Content-Type': 'application/octet-stream' } });
    }
    return method === 'log' ? json({ result: { text: 'from the server' } }) : json({ message: 'no' }, 400);
  }
}
