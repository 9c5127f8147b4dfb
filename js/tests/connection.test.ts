import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { Connection } from '../src/widgets/frames/connection.ts';
import type { ToKernel } from '../src/widgets/messages.ts';
import { FakeComm } from './page.ts';

class FakeSignal {
  slots: ((sender: unknown, value: string) => void)[] = [];

  connect(slot: (sender: unknown, value: string) => void): void {
    this.slots.push(slot);
  }

  disconnect(slot: (sender: unknown, value: string) => void): void {
    this.slots = this.slots.filter(other => other !== slot);
  }

  emit(value: string): void {
    for (const slot of this.slots) slot(null, value);
  }
}

class FakeKernel {
  connectionStatus = 'connected';
  statusChanged = new FakeSignal();
  connectionStatusChanged = new FakeSignal();
  comms: FakeComm<ToKernel>[] = [];
  known = false;

  createComm(): FakeComm<ToKernel> {
    this.comms.push(new FakeComm());
    return this.comm;
  }

  async requestCommInfo(): Promise<object> {
    return { content: { status: 'ok', comms: this.known ? { status: {} } : {} } };
  }

  get comm(): FakeComm<ToKernel> {
    return this.comms.at(-1) as FakeComm<ToKernel>;
  }
}

describe('a view’s connection to the kernel', () => {
  let kernel: FakeKernel;
  let connection: Connection;
  let awake: boolean;
  let trouble: string;
  /** Advance the clock second by second and run pending promises. */
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      mock.timers.tick(1000);
      await new Promise(resolve => setImmediate(resolve));
    }
  };

  beforeEach(async () => {
    mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'], now: 1_000_000 });
    kernel = new FakeKernel();
    [awake, trouble] = [true, ''];
    const hello = () => ({ version: 1 as const, tiles: [], visible: [], fps: 30, paused: false });
    connection = new Connection({ kernel } as never, {
      hello,
      awake: () => awake,
      receive: () => {},
      trouble: text => {
        trouble = text;
      }
    });
    await pass(0);
    await new Promise(resolve => setImmediate(resolve));
  });

  afterEach(() => {
    connection.close();
    mock.timers.reset();
  });

  test('it opens when a tile is visible, and requests heartbeats', async () => {
    assert.equal(kernel.comm.opened.length, 1);
    kernel.comm.say({ type: 'pong' });
    await pass(6);
    assert.deepEqual(kernel.comm.sent, [{ type: 'beat' }, { type: 'beat' }]);
  });

  test('it sends nothing while no tile is visible', async () => {
    awake = false;
    await pass(40);
    assert.deepEqual(kernel.comm.sent, [{ type: 'beat' }]);
  });

  test('an unresponsive kernel is reported, and the connection is reopened', async () => {
    await pass(20);
    assert.match(trouble, /does not answer/);
    assert.equal(kernel.comms.length, 2);
    assert.deepEqual(kernel.comms[0]?.sent.at(-1), { type: 'close' });
    kernel.comm.say({ type: 'pong' });
    assert.equal(trouble, '');
  });

  test('after a long sleep it does not wait for an answer to an old message', async () => {
    kernel.comm.say({ type: 'pong' });
    mock.timers.setTime(Date.now() + 60_000);
    await pass(1);
    assert.equal(kernel.comms.length, 2);
  });

  test('a restarted kernel is not contacted until it has a Lab', async () => {
    kernel.statusChanged.emit('restarting');
    assert.match(trouble, /was restarted/);
    kernel.statusChanged.emit('idle');
    await pass(5);
    assert.equal(kernel.comms.length, 1);
    kernel.known = true;
    kernel.statusChanged.emit('idle');
    await pass(1);
    assert.equal(kernel.comms.length, 2);
  });

  test('a lost connection is reported, and reopened once the kernel is reachable', async () => {
    kernel.connectionStatus = 'connecting';
    kernel.connectionStatusChanged.emit('connecting');
    assert.match(trouble, /connection to the kernel is lost/);
    kernel.connectionStatus = 'connected';
    kernel.connectionStatusChanged.emit('connected');
    await pass(1);
    assert.equal(kernel.comms.length, 2);
  });

  test('closing asks the kernel to close the comm, and does not wait for a silent kernel', async () => {
    connection.close();
    assert.deepEqual(kernel.comm.sent.at(-1), { type: 'close' });
    assert.equal(kernel.comm.isDisposed, false);
    await pass(10);
    assert.equal(kernel.comm.isDisposed, true);
    assert.deepEqual(kernel.statusChanged.slots, []);
  });
});
