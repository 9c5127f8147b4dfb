import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Menu } from '@lumino/widgets';
import { explainDisabled } from '../src/extension/runs-panel/run-menu.ts';
import type { RunRow } from '../src/shared/run-api.ts';
import * as reasons from '../src/views/runs/reasons.ts';
import { removalQuestion } from '../src/views/runs/run-questions.ts';
import type { RunTable } from '../src/views/runs/run-table.ts';
import { continuationsOf, type Target, targetsOf } from '../src/views/runs/targets.ts';
import { key, MemorySource, row, STORE, tableOf } from './memory-source.ts';

let source: MemorySource;
let table: RunTable;

beforeEach(() => {
  source = new MemorySource();
  table = tableOf(source);
});

describe('actions on runs', () => {
  const target = (more: Partial<RunRow> = {}, id = 'a'): Target => ({ source, id, row: row(id, more) });

  test('unavailable actions give their reason', () => {
    assert.match(reasons.stop([]), /Select a run/);
    assert.match(reasons.stop([target()]), /alive/);
    assert.equal(reasons.stop([target({ alive: true }), target()]), '');
    assert.match(reasons.remove([target({ alive: true })]), /alive first/);
    assert.match(reasons.annotateOne([target(), target()]), /one run only/);
    assert.match(reasons.compare([target(), target({ env: 'Acrobot-v1' })]), /same environment/);
    assert.match(reasons.resume([target({ kind: 'comparison' })]), /^Only trainings, evaluations and sweeps/);
    assert.equal(reasons.resume([target({ kind: 'training', state: 'cancelled' })]), '');
    assert.equal(reasons.resume([target({ kind: 'evaluation', state: 'cancelled' })]), '');
  });

  test('a group is resumed as a whole, if any of its trainings ended early', () => {
    const seeds = (...states: RunRow['state'][]) =>
      states.map((state, seed) => target({ group: 'g', state, alive: state === 'running' }, `s${seed}`));
    assert.equal(reasons.resume(seeds('cancelled', 'completed')), '');
    assert.match(reasons.resume(seeds('completed', 'completed')), /^All of these runs have completed/);
    assert.match(reasons.resume(seeds('cancelled', 'running')), /^Stop the runs/);
    assert.match(reasons.resume([...seeds('cancelled'), target({ state: 'cancelled' }, 'b')]), /one group/);
  });

  test('a double click opens a panel or charts, or gives the reason why it cannot', () => {
    assert.equal(reasons.open([target()]), '');
    assert.match(reasons.open([target({ kind: 'comparison' })]), /^Not possible for comparisons/);
    source.hindrance = 'open a notebook';
    assert.equal(reasons.open([target()]), '', 'its charts');
    assert.match(reasons.open([target({ kind: 'comparison' })]), /^Not possible for comparisons/);
  });

  test('tooltips of the menu explain why items are disabled', () => {
    const node = () => {
      const attributes = new Map<string, string>();
      return { attributes, setAttribute: (name: string, value: string) => attributes.set(name, value) };
    };
    const children = [node(), node(), node()];
    const items = [
      { isEnabled: true, caption: 'open' },
      { isEnabled: false, caption: reasons.annotateOne([target(), target()]) },
      { isEnabled: false, caption: '' }
    ];
    explainDisabled({ items, contentNode: { children } } as unknown as Menu);
    assert.deepEqual(
      children.map(({ attributes }) => attributes.get('title')),
      [undefined, 'Select one run only: 2 are selected.', undefined]
    );
  });

  test('runs are read-only without a kernel', () => {
    source.hindrance = 'open a notebook';
    assert.equal(reasons.panel([target()]), 'open a notebook');
    assert.equal(reasons.remove([target()]), 'open a notebook');
    assert.equal(reasons.readOne([target()]), '');
  });

  test('removing a run warns of runs that continue it', () => {
    source.change([row('a'), row('b', { continues: 'a' }), row('c', { continues: 'b', parent: 'a' })]);
    const targets = [target()];
    assert.equal(continuationsOf(targets, table), 1);
    assert.match(
      removalQuestion(targets, 0, 1).warning,
      /^Another run continues from one of these checkpoints/
    );
    assert.equal(continuationsOf([target(), target({}, 'b')], table), 0);
    assert.equal(removalQuestion(targets, 0, 0).warning, '');
  });

  test('a command’s arguments take precedence over the selection', () => {
    source.change([row('a'), row('b')]);
    table.click(key('a'), {});
    assert.deepEqual(
      targetsOf({}, table, () => source).map(({ id }) => id),
      ['a']
    );
    const named = targetsOf({ store: STORE, runs: ['b', 'gone'] }, table, () => source);
    assert.deepEqual(
      named.map(({ id, row }) => [id, row?.name]),
      [
        ['b', 'b'],
        ['gone', undefined]
      ]
    );
  });
});
