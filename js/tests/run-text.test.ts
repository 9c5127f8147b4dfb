import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunRow } from '../src/shared/run-api.ts';
import { durationOf, outcomeText, progressText } from '../src/views/runs/run-text.ts';

test('a sweep shows the number of its ended trials', () => {
  const sweep = { total_trials: 1040, trials: 12, progress: 0.01, state: 'running' };
  const text = (row: object) => progressText(row as RunRow);
  assert.equal(text({ ...sweep, segmented: false }), '12 of 1,040 trials');
  assert.equal(text({ ...sweep, segmented: true }), '12 of 1,040 segments');
});

test('a run with a different number of steps than requested shows both', () => {
  const run = { total_trials: null, total_episodes: null, progress: 1, state: 'completed', step: 19_968 };
  const text = (row: object) => progressText({ ...run, ...row } as RunRow);
  assert.equal(text({ total_steps: 19_968, requested_steps: 20_000 }), '19,968 (20,000 requested)');
  assert.equal(text({ total_steps: 19_968, requested_steps: 19_968 }), '20k');
});

test('a run of unknown length shows no progress before its first step', () => {
  const run = { total_trials: null, total_episodes: null, progress: null, state: 'running' };
  const text = (row: object) =>
    progressText({ ...run, total_steps: null, requested_steps: null, ...row } as RunRow);
  assert.deepEqual(
    [null, 0, 12].map(step => text({ step })),
    ['', '', '12']
  );
});

test('a pruned trial shows the step at which it was pruned', () => {
  const text = (reason: string) => outcomeText({ state: 'cancelled', reason } as RunRow);
  assert.equal(text('stopped on request (it ended by itself with exit code 0)'), 'cancelled');
  assert.equal(text('stopped on request: pruned at step 1,222; resume() goes on'), 'pruned at step 1,222');
});

test('the duration of a resumed run includes its earlier sessions, even while it is live', () => {
  const resumed = { alive: true, started: 1000, earlier_seconds: 60, duration: 65 };
  assert.equal(durationOf(resumed as RunRow, 1010), 70);
  assert.equal(durationOf({ ...resumed, alive: false } as RunRow, 1010), 65);
});
