import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import type { RunRow } from '../src/shared/run-api.ts';
import { RunSource } from '../src/shared/run-source.ts';
import { asKernel, Peer, row, Served, STORE } from './store-peers.ts';

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
    source = new RunSource(STORE, { server: served.transport.to(STORE), whyNot: () => 'start a kernel' });
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

  test('of a server that is back says so within seconds, though nothing has changed', async () => {
    listen();
    await pass(1);
    served.reachable = false;
    await pass(30); // the request that waits for changes has ended
    assert.deepEqual(served.transport.state, { kind: 'gone' });
    served.reachable = true;
    await pass(6);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('of a server that is back says so, though nothing is followed through it', async () => {
    served.reachable = false;
    await assert.rejects(log(), /cannot be reached/);
    await pass(20);
    served.reachable = true;
    await pass(6);
    assert.equal(served.transport.state?.kind, 'answers');
    served.calls.length = 0;
    await pass(60);
    assert.deepEqual(served.calls, []);
  });

  test('of a server that is suspended says so within a minute, until it answers', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.silent = true; // its messages pass through the server
    served.suspended = true;
    await pass(59);
    assert.deepEqual(served.transport.state, { kind: 'silent' });
    served.suspended = false;
    await pass(21);
    assert.equal(served.transport.state?.kind, 'answers');
    assert.deepEqual([...known], ['a', 'b']);
  });

  test('refuses what a suspended server does not answer, and says so until it does', async () => {
    served.suspended = true;
    const refused = assert.rejects(log(), /does not answer/);
    await pass(84);
    await refused;
    assert.deepEqual(served.transport.state, { kind: 'silent' });
    served.suspended = false;
    await pass(21);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('is read again though the connection of a request was lost without a word', async () => {
    served.until = (_, signal) => Served.prototype.until.call(served, 1e6, signal);
    listen();
    await pass(1);
    const { length } = served.calls;
    await pass(35);
    assert.equal(served.calls.length, length + 1);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('is followed by the one request of the page, and by none while the page is out of sight', async () => {
    const server = served.transport.to('/other');
    const other = new RunSource('/other', { server, whyNot: () => '' });
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

  test('without listeners costs nothing', async () => {
    listen();
    await pass(1);
    ended?.();
    const before = served.calls.length;
    await pass(120);
    assert.equal(served.calls.length, before);
  });

  describe('in a cell, without a server', () => {
    beforeEach(() => {
      source = new RunSource(STORE, { server: null, whyNot: () => 'run the cell again' });
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

  test('keeps its notices apart from what is unreachable', async () => {
    await assert.rejects(source.call('metrics', { runs: ['a'] }), /^Error: no$/);
  });
});
