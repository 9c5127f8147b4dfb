import assert from 'node:assert/strict';
import { beforeEach, describe, mock, test } from 'node:test';
import { RunSources } from '../src/extension/sources/run-sources.ts';
import type { IKernelWithLab } from '../src/extension/tokens.ts';
import { VERSION } from '../src/shared/page-extension.ts';
import { asKernel, Peer, Served, STORE } from './store-peers.ts';

describe('the run stores of a page', () => {
  let served: Served;
  let sources: RunSources;
  const paths = () => sources.sources.map(({ store }) => store);
  const withLab = (...stores: string[]): IKernelWithLab => ({
    kernel: asKernel(new Peer('k1', [])),
    stores,
    version: VERSION
  });

  beforeEach(() => {
    served = new Served();
    sources = new RunSources(served.transport);
  });

  test('are the stores of kernels, then those found by the server', async () => {
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

  test('are searched for periodically, and kept if an incomplete search may have missed them', async () => {
    mock.timers.enable({ apis: ['Date'] });
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

  test('stay listed after their kernel ended, until the server has searched', async () => {
    sources.setKernels([withLab('/far/away')]);
    await sources.search();
    sources.setKernels([]);
    assert.deepEqual(paths(), [STORE, '/other', '/far/away']);
    await sources.search();
    assert.deepEqual(paths(), [STORE, '/other']);
  });

  test('come with installation advice if the server lacks the package', async () => {
    served.status = 404;
    await sources.search();
    assert.match(sources.notices[0] ?? '', /server has no mosaic-lab.*pip install mosaic-lab/);
  });

  test('come with advice if the version of a kernel or the server differs from the page’s', async () => {
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

  test('come with the reason why runs are read-only, but only while a kernel runs a cell', () => {
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
