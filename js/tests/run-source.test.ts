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

  /** Advance the clock in steps of 0.1 s and run pending promises. */
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

  test('without a kernel is read from the server and is read-only', async () => {
    listen();
    await pass(1);
    assert.deepEqual([...known], ['a', 'b']);
    assert.equal(await log(), 'from the server');
    assert.equal(source.canAct, false);
    await assert.rejects(source.call('stop', { runs: ['a'] }), /start a kernel/);
  });

  test('is read from a kernel that has a Lab on it, which also performs actions', async () => {
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

  test('switches to the server while its kernel is silent, and back', async () => {
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

  test('detects a silent kernel without a request', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.silent = true;
    await pass(25);
    assert.deepEqual([...known], ['a', 'b']);
  });

  test('switches to another kernel, then to the server, as kernels are lost', async () => {
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

  test('subscribes again after the kernel closed its comm', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.closeComm();
    await pass(2);
    assert.equal(peer.opened.length, 2);
    assert.equal(peer.requests.at(-1)?.params.version, 1);
  });

  test('waits for the result of an action, however long the kernel is silent', async () => {
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

  test('delivers binary buffers from kernel and server', async () => {
    const [, of4, of8] = [0, ...(await source.call('curves', CURVES)).buffers];
    assert.deepEqual([of4?.byteLength, of8?.byteLength], [4, 8]);
    source.setKernels([asKernel(new Peer('k1', []))]);
    const { buffers } = await source.call('curves', CURVES);
    assert.deepEqual([...new Float32Array(buffers[0] as ArrayBuffer)], [1, 2]);
  });

  test('is read again once the server is back; retries back off and stop in a hidden page', async () => {
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

  test('reports within seconds that the server is back, even if no run has changed', async () => {
    listen();
    await pass(1);
    served.reachable = false;
    await pass(30); // until the waiting request has ended
    assert.deepEqual(served.transport.state, { kind: 'gone' });
    served.reachable = true;
    await pass(6);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('reports that the server is back, even without subscribers', async () => {
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

  test('reports a suspended server within a minute, until it answers', async () => {
    const peer = new Peer('k1', ['c']);
    source.setKernels([asKernel(peer)]);
    listen();
    await pass(1);
    peer.silent = true; // the kernel's messages pass through the server
    served.suspended = true;
    await pass(59);
    assert.deepEqual(served.transport.state, { kind: 'silent' });
    served.suspended = false;
    await pass(21);
    assert.equal(served.transport.state?.kind, 'answers');
    assert.deepEqual([...known], ['a', 'b']);
  });

  test('rejects calls that a suspended server does not answer, and reports it until it does', async () => {
    served.suspended = true;
    const refused = assert.rejects(log(), /does not answer/);
    await pass(84);
    await refused;
    assert.deepEqual(served.transport.state, { kind: 'silent' });
    served.suspended = false;
    await pass(21);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('is read again after the connection of a request was lost silently', async () => {
    served.until = (_, signal) => Served.prototype.until.call(served, 1e6, signal);
    listen();
    await pass(1);
    const { length } = served.calls;
    await pass(35);
    assert.equal(served.calls.length, length + 1);
    assert.equal(served.transport.state?.kind, 'answers');
  });

  test('shares one waiting request with other stores, and has none in a hidden page', async () => {
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

  test('sends no requests without subscribers', async () => {
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

    test('is read only from its kernel, which may be silent for a while', async () => {
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

  test('does not report a refused request as an unreachable server', async () => {
    await assert.rejects(source.call('metrics', { runs: ['a'] }), /^Error: no$/);
  });
});
