import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';

import { RunSources } from '../src/extension/sources/run-sources.ts';
import { type Send, ServerTransport, VERSION_HEADER } from '../src/extension/sources/server-transport.ts';
import type { IKernelWithLab } from '../src/extension/tokens.ts';
import type { Changes, RunRow } from '../src/shared/run-api.ts';
import { RunSource } from '../src/shared/run-source.ts';
import { VERSION } from '../src/shared/version.ts';
import { english } from '../src/views/translation.ts';

const STORE = '/runs/of/ada';
type Kernel = IKernelWithLab['kernel'];

interface Request {
  id: number;
  method: string;
  params: { version?: number };
}

/** A kernel that answers, or is silent, or has a comm that it closes. */
class Peer {
  readonly id: string;
  connectionStatus = 'connected';
  silent = false;
  readonly requests: Request[] = [];
  readonly opened: unknown[] = [];
  rows: string[] = [];
  private late: Request[] = [];
  private comm: { onMsg: (message: object) => void; onClose: () => void; isDisposed: boolean } | undefined;

  constructor(id: string, rows: string[]) {
    this.id = id;
    this.rows = rows;
  }

  createComm(): object {
    const comm = {
      onMsg: (_: object) => {},
      onClose: () => {},
      isDisposed: false,
      open: (data: unknown) => {
        this.opened.push(data);
        return {};
      },
      send: (data: Request) => {
        this.requests.push(data);
        if (this.silent) this.late.push(data);
        else this.answer(data);
        return {};
      },
      close: () => {
        comm.isDisposed = true;
        return {};
      },
      dispose: () => {
        comm.isDisposed = true;
      }
    };
    this.comm = comm;
    return comm;
  }

  wake(): void {
    this.silent = false;
    for (const request of this.late.splice(0)) this.answer(request);
  }

  push(changes: Partial<Changes>): void {
    this.say({ changes: { version: 2, rows: [], removed: [], ...changes } });
  }

  closeComm(): void {
    const comm = this.comm;
    assert.ok(comm);
    comm.isDisposed = true;
    comm.onClose();
  }

  private answer({ id, method, params }: Request): void {
    this.say({ id, taken: true });
    if (method === 'subscribe') {
      const whole = !params.version;
      if (whole) this.push({ version: 1, whole, rows: this.rows.map(row) });
    } else if (method === 'log') {
      this.say({ id, result: { text: `from ${this.id}` } });
    } else if (method === 'curves') {
      this.comm?.onMsg({
        content: { data: { id, result: { lines: [] } } },
        buffers: [new Float32Array([0, 1, 2]).subarray(1)]
      });
    } else if (method === 'stop') {
      this.say({ id, error: 'no such run' });
    }
  }

  private say(data: object): void {
    this.comm?.onMsg({ content: { data } });
  }
}

function row(id: string): RunRow {
  return { id } as RunRow;
}

function asKernel(peer: Peer): Kernel {
  return peer as unknown as Kernel;
}

function json(body: object, status = 200, version = VERSION): Response {
  const headers = { 'Content-Type': 'application/json', [VERSION_HEADER]: version };
  return new Response(JSON.stringify(body), { status, headers });
}

/** A server with one store. */
class Served {
  status = 200;
  reachable = true;
  hidden = false;
  version = VERSION;
  rows = ['a', 'b'];
  stores = [STORE, '/other'];
  cutShort = '';
  searches = 0;
  /** Requests that wait for changes now. */
  waiting = 0;
  readonly calls: string[] = [];
  readonly transport = new ServerTransport(
    this.send.bind(this) as Send,
    () => {},
    english,
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
    if (this.status !== 200) return new Response('<html>', { status: this.status });
    if (path === 'stores') {
      this.searches += 1;
      const stores = this.stores.map(path => ({ path }));
      const result = { stores, cut_short: this.cutShort, seconds: 0.05, root: '/' };
      return json({ result }, 200, this.version);
    }
    const { method, params, wait } = JSON.parse(String(init.body));
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

const CURVES = {
  ...{ runs: ['a'], metric: 'm', x: 'step' as const, start: null, end: null, points: 9 },
  ...{ smoothing: 0, outliers: false, group_by: null }
};

describe('a run store', () => {
  let served: Served;
  let source: RunSource;
  let known: Set<string>;
  let ended: (() => void) | undefined;

  /** Let seconds pass, and whatever is awaited in them happen. */
  const pass = async (seconds: number) => {
    for (let tenth = 0; tenth < 10 * seconds + 1; tenth++) {
      mock.timers.tick(100);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      await new Promise(resolve => setImmediate(resolve));
    }
  };

  const listen = () => {
    ended = source.subscribe(({ rows, removed }) => {
      for (const id of removed) known.delete(id);
      for (const { id } of rows) known.add(id);
    });
  };

  const log = async () => (await source.call('log', { run: 'a', lines: 1 })).result.text;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
    served = new Served();
    source = new RunSource(STORE, {
      server: served.transport.to(STORE),
      whyNot: () => 'start a kernel',
      trans: english
    });
    known = new Set();
    ended = undefined;
  });

  afterEach(async () => {
    ended?.();
    source.setKernels([]);
    await pass(60);
    mock.timers.reset();
  });

  test('without a kernel is read from the server, and cannot be acted on', async () => {
    listen();
    await pass(1);
    assert.deepEqual([...known], ['a', 'b']);
    assert.equal(await log(), 'from the server');
    assert.equal(source.canAct, false);
    await assert.rejects(source.call('stop', { runs: ['a'] }), /start a kernel/);
  });

  test('is read from a kernel that has a Lab on it, which acts too', async () => {
    const peer = new Peer('k1', ['b', 'c']);
    listen();
    await pass(1);
    source.setKernels([asKernel(peer)]);
    await pass(1);
    assert.deepEqual([...known], ['b', 'c']);
    assert.deepEqual(peer.opened, [{ store: STORE }]);
    assert.equal(await log(), 'from k1');
    assert.equal(source.canAct && source.kernelId, 'k1');
    await assert.rejects(source.call('stop', { runs: ['x'] }), /no such run/);
    peer.push({ version: 3, rows: [row('d')], removed: ['b'] });
    assert.deepEqual([...known], ['c', 'd']);
  });

  test('goes over to the server while its kernel is silent, and back', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.silent = true;
    const answer = log();
    await pass(4);
    assert.equal(await answer, 'from the server');
    await pass(1);
    assert.deepEqual([...known], ['a', 'b']);
    peer.wake();
    await pass(1);
    assert.deepEqual([...known], ['c']);
    assert.equal(await log(), 'from k1');
  });

  test('notices by itself that its kernel is silent', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.silent = true;
    await pass(25);
    assert.deepEqual([...known], ['a', 'b']);
  });

  test('goes over to another kernel, then to the server, as kernels are restarted', async () => {
    const [one, two] = [new Peer('k1', ['c']), new Peer('k2', ['d'])];
    source.setKernels([asKernel(one), asKernel(two)]);
    listen();
    await pass(1);
    const stopped = source.call('stop', { runs: ['a'] }).catch(reason => reason);
    assert.match(String(await stopped), /no such run/);
    source.setKernels([asKernel(two)]);
    await pass(1);
    assert.deepEqual([...known], ['d']);
    two.connectionStatus = 'disconnected';
    source.setKernels([asKernel(two)]);
    await pass(1);
    assert.deepEqual([...known], ['a', 'b']);
    assert.equal(source.canAct, false);
  });

  test('subscribes again when the kernel has closed its comm', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.closeComm();
    await pass(2);
    assert.equal(peer.opened.length, 2);
    assert.equal(peer.requests.at(-1)?.params.version, 1);
  });

  test('gives the last action of a page time: it is not done behind the user’s back', async () => {
    const peer = new Peer('k1', []);
    source.setKernels([asKernel(peer)]);
    peer.silent = true;
    let said = '';
    source.call('stop', { runs: ['a'] }).catch(reason => {
      said = String(reason);
    });
    await pass(30);
    assert.equal(said, '');
    peer.wake();
    await pass(1);
    assert.match(said, /no such run/);
  });

  test('comes with binary parts both ways', async () => {
    const [, of4, of8] = [0, ...(await source.call('curves', CURVES)).buffers];
    assert.deepEqual([of4?.byteLength, of8?.byteLength], [4, 8]);
    source.setKernels([asKernel(new Peer('k1', []))]);
    const { buffers } = await source.call('curves', CURVES);
    assert.deepEqual([...new Float32Array(buffers[0] as ArrayBuffer)], [1, 2]);
  });

  test('is read again when the server is back, tried ever more rarely, not at all out of sight', async () => {
    served.reachable = false;
    listen();
    await pass(10);
    await assert.rejects(log(), /cannot be reached: Failed to fetch/);
    assert.deepEqual(served.transport.state, { kind: 'gone' });
    served.hidden = true;
    served.reachable = true;
    await pass(90);
    assert.deepEqual(served.calls, []);
    served.hidden = false;
    await pass(6);
    assert.deepEqual([...known], ['a', 'b'], 'a few seconds after the page is in sight again');
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('is read again though the connection of a request was lost without a word', async () => {
    served.until = (_, signal) => Served.prototype.until.call(served, 1e6, signal);
    listen();
    await pass(1);
    const { length } = served.calls;
    await pass(45);
    assert.equal(served.calls.length, length + 1);
  });

  test('is followed by the one request of the page, and by none while the page is out of sight', async () => {
    const server = served.transport.to('/other');
    const other = new RunSource('/other', { server, whyNot: () => '', trans: english });
    listen();
    const rows: RunRow[] = [];
    const end = other.subscribe(changes => rows.push(...changes.rows));
    await pass(2);
    assert.equal(rows.length, 2);
    assert.equal(served.waiting, 1);
    served.hidden = true;
    await pass(30);
    assert.equal(served.waiting, 0);
    served.calls.length = 0;
    await pass(60);
    assert.ok(
      served.calls.length > 5 && served.calls.length < 15,
      `${served.calls.length} requests a minute`
    );
    end();
  });

  test('nobody listens to costs nothing', async () => {
    listen();
    await pass(1);
    ended?.();
    const before = served.calls.length;
    await pass(120);
    assert.equal(served.calls.length, before);
  });

  describe('in a cell, without a server', () => {
    beforeEach(() => {
      source = new RunSource(STORE, { server: null, whyNot: () => 'run the cell again', trans: english });
    });

    test('is read from its kernel alone, which may be silent for a while', async () => {
      const peer = new Peer('k1', ['b']);
      source.setKernels([asKernel(peer)]);
      listen();
      await pass(1);
      peer.silent = true;
      const problem = assert.rejects(log(), /The kernel does not answer/);
      await pass(4);
      await problem;
      assert.deepEqual([...known], ['b'], 'the rows stay');
      peer.wake();
      peer.push({ version: 3, rows: [row('c')], removed: ['b'] });
      assert.deepEqual([...known], ['c']);
      assert.equal(await log(), 'from k1');
    });

    test('says what to do when its kernel is gone', async () => {
      listen();
      await assert.rejects(log(), /run the cell again/);
      await assert.rejects(source.call('stop', { runs: ['a'] }), /run the cell again/);
      assert.equal(source.canAct, false);
    });
  });

  test('keeps what its user is told apart from what is unreachable', async () => {
    await assert.rejects(source.call('metrics', { runs: ['a'] }), /^Error: no$/);
  });
});

describe('the run stores that a page knows', () => {
  const withLab = (...stores: string[]): IKernelWithLab => ({
    kernel: asKernel(new Peer('k1', [])),
    stores,
    version: VERSION
  });

  test('are those of kernels, then those that the server finds', async () => {
    const served = new Served();
    const sources = new RunSources(served.transport, english);
    sources.setKernels([withLab('/far/away', STORE)]);
    await sources.search();
    assert.deepEqual(
      sources.sources.map(({ store, hasKernel, canAct }) => [store, hasKernel, canAct]),
      [
        ['/far/away', true, true],
        [STORE, true, true],
        ['/other', false, false]
      ]
    );
    assert.deepEqual(sources.notices, []);
    assert.equal(sources.source(STORE), sources.source(STORE));
  });

  test('are found again now and then, and stay while a search may have missed them', async () => {
    mock.timers.enable({ apis: ['Date'] });
    const served = new Served();
    const sources = new RunSources(served.transport, english);
    const paths = () => sources.sources.map(({ store }) => store);
    await sources.search();
    served.stores = ['/new', STORE];
    sources.searchNowAndThen();
    assert.equal(served.searches, 1, 'the last search is not long ago');
    mock.timers.tick(4000);
    sources.searchNowAndThen();
    assert.equal(served.searches, 1, 'searching is to cost 1% of the time');
    mock.timers.tick(2000);
    served.cutShort = 'the search ended after 5 s';
    sources.searchNowAndThen();
    await Promise.all([sources.search(), sources.search()]);
    assert.equal(served.searches, 2, 'one search at a time');
    assert.deepEqual(paths(), ['/new', STORE, '/other']);
    served.cutShort = '';
    await sources.search();
    assert.deepEqual(paths(), ['/new', STORE]);
    mock.timers.reset();
  });

  test('stay listed when their kernel goes, until the server has searched', async () => {
    const served = new Served();
    const sources = new RunSources(served.transport, english);
    const paths = () => sources.sources.map(({ store }) => store);
    sources.setKernels([withLab('/far/away')]);
    await sources.search();
    sources.setKernels([]);
    assert.deepEqual(paths(), [STORE, '/other', '/far/away']);
    await sources.search();
    assert.deepEqual(paths(), [STORE, '/other']);
  });

  test('come with what to install where something is missing', async () => {
    const served = new Served();
    served.status = 404;
    const sources = new RunSources(served.transport, english);
    await sources.search();
    assert.match(sources.notices[0] ?? '', /server has no mosaic-lab.*pip install mosaic-lab/);
  });

  test('come with what to do where a kernel or the server has another version than the page', async () => {
    const served = new Served();
    const sources = new RunSources(served.transport, english);
    sources.setKernels([
      { ...withLab(STORE), version: '99.0' },
      { ...withLab(STORE), version: '99.0' }
    ]);
    assert.deepEqual(sources.notices, [
      `This page has mosaic-lab ${VERSION}, the kernel 99.0. Reload the page; if this line stays, install 99.0 in the ` +
        'environment that runs Jupyter (pip install mosaic-lab==99.0).'
    ]);
    sources.setKernels([{ ...withLab(STORE), version: '0.0.9' }]);
    assert.match(sources.notices[0] ?? '', /Restart the kernel;.* in the kernel’s environment/);
    served.version = '0.0.9';
    sources.setKernels([]);
    await sources.search();
    assert.match(sources.notices[0] ?? '', /server still runs 0\.0\.9\. Restart the server/);
  });

  test('come with why runs are read-only while a kernel runs a cell, and only then', () => {
    const sources = new RunSources(new Served().transport, english);
    const before = sources.source(STORE).whyNot;
    assert.match(before, /Run mosaic_lab\.Lab/);
    sources.setKernels([], ['work.ipynb']);
    assert.match(sources.source(STORE).whyNot, /The kernel of work\.ipynb is running a cell/);
    assert.deepEqual(sources.notices, [sources.source(STORE).whyNot]);
    sources.setKernels([]);
    assert.equal(sources.source(STORE).whyNot, before);
    assert.deepEqual(sources.notices, []);
  });
});
