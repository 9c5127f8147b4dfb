import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checkText, sizeText, sorted, stateText, versionText } from '../src/extension/workers/worker-text.ts';
import type { WorkerRow } from '../src/shared/run-api.ts';

const ROW: WorkerRow = {
  ...{ name: 'cleanrl', state: 'installed', detail: '', about: '', upstream: 'cleanrl 0.4.8' },
  ...{ version: '0.1.0', source: 'git', size_bytes: 1_487_000_000 },
  ...{ created: 1, provides: [], algorithms: ['ppo'], trains: true },
  ...{ checked: null, checks: 0, failed: {} }
};

test('workers that need attention come first', () => {
  const rows = [
    { ...ROW, name: 'b', state: 'not installed' as const },
    { ...ROW, name: 'z' },
    { ...ROW, name: 'a' },
    { ...ROW, name: 'c', state: 'broken' as const }
  ];
  assert.deepEqual(
    sorted(rows).map(row => row.name),
    ['c', 'a', 'z', 'b']
  );
});

test('a worker shows its version, size and checks', () => {
  assert.equal(versionText(ROW), 'cleanrl 0.4.8');
  assert.equal(versionText({ ...ROW, upstream: '' }), '0.1.0');
  assert.equal(sizeText(ROW.size_bytes), '1.5 GB');
  assert.equal(stateText({ ...ROW, state: 'not installed' }), 'available');
  assert.equal(checkText(ROW), 'not checked');
  const checked = { ...ROW, checked: 1_700_000_000, checks: 12 };
  assert.match(checkText(checked), /^all 12 checks passed on /);
  assert.match(checkText({ ...checked, failed: { stop: 'too late' } }), /^1 of 12 checks failed on /);
});
