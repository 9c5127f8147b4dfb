import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { RunRow } from '../src/shared/run-api.ts';
import { facetCounts, filterProblem, NO_FILTER, toggled } from '../src/views/runs/filter.ts';
import { RunTable } from '../src/views/runs/run-table.ts';
import {
  ageText,
  countsText,
  runSummary,
  sparklinePath,
  speedText,
  storeSummary
} from '../src/views/runs/run-text.ts';
import { storeTitles } from '../src/views/runs/tree.ts';
import { key, MemorySource, NOW, row, STORE, tableOf } from './memory-source.ts';

let source: MemorySource;
let table: RunTable;

beforeEach(() => {
  source = new MemorySource();
  table = tableOf(source);
});

function titles(): string[] {
  return table.snapshot.lines.map(line => `${'  '.repeat(line.depth)}${line.title}`);
}

function search(text: string): string[] {
  table.setFilter({ ...NO_FILTER, text });
  return table.snapshot.lines.map(line => line.title);
}

function seeds(): RunRow[] {
  return [1, 2, 3].map(seed =>
    row(`s${seed}`, {
      name: `cleanrl ppo seed ${seed}`,
      group: 'g',
      seed,
      created: 1000 + seed,
      last_return: 10 * seed
    })
  );
}

describe('the tree', () => {
  test('runs of a group are below one line, and films below their training', () => {
    source.change([...seeds(), row('a', { created: 5 }), row('film', { parent: 'a', kind: 'films' })]);
    assert.deepEqual(titles(), ['cleanrl ppo', 'a']);
    table.toggle(table.snapshot.lines[0]?.key ?? '');
    table.toggle(key('a'));
    assert.deepEqual(titles(), ['cleanrl ppo', '  seed 3', '  seed 2', '  seed 1', 'a', '  film']);
    assert.deepEqual(
      table.snapshot.lines.map(({ place, siblings }) => `${place}/${siblings}`),
      ['1/2', '1/3', '2/3', '3/3', '2/2', '1/1']
    );
  });

  test('renaming one run of a group changes neither the group’s title nor its other lines', () => {
    const [first, second, third] = seeds() as [RunRow, RunRow, RunRow];
    source.change([first, { ...second, name: 'the good one' }, third]);
    table.toggle(table.snapshot.lines[0]?.key ?? '');
    assert.deepEqual(titles(), ['cleanrl ppo', '  seed 3', '  the good one', '  seed 1']);
    assert.deepEqual(search('seed 2'), ['the good one'], 'its label is found, too');
  });

  test('equal names are extended by the first two hyperparameters that differ', () => {
    const trained = (id: string, created: number, rate: number, more: object = {}) =>
      row(id, {
        name: 'ppo seed 1',
        created,
        hyperparameters: { learning_rate: rate, gamma: 0.9, batch_size: rate * 1000, clip: rate },
        ...more
      });
    source.change([
      trained('a', 4, 0.001),
      trained('b', 3, 0.002),
      trained('c', 2, 0.003, { label: 'ppo seed 1', name: 'the good one' }),
      ...[0.1, 0.2].flatMap(rate =>
        [1, 2].map(seed =>
          trained(`${rate} ${seed}`, rate, rate, { name: `dqn seed ${seed}`, group: `${rate}` })
        )
      )
    ]);
    assert.deepEqual(titles(), [
      'ppo seed 1 learning_rate=0.001 batch_size=1',
      'ppo seed 1 learning_rate=0.002 batch_size=2',
      'the good one',
      'dqn learning_rate=0.2 batch_size=200',
      'dqn learning_rate=0.1 batch_size=100'
    ]);
  });

  test('equal names with equal hyperparameters are extended by the end of the id', () => {
    const trained = (id: string, created: number, device: string) =>
      row(`20261126-${id}`, { name: 'ppo seed 1', created, hyperparameters: { device } });
    source.change([trained('aaaa', 3, 'auto'), trained('bbbb', 2, 'auto'), trained('cccc', 1, 'cuda')]);
    assert.deepEqual(titles(), ['ppo seed 1 aaaa', 'ppo seed 1 bbbb', 'ppo seed 1 device=cuda']);
  });

  test('names that are still equal are extended by the end of the id', () => {
    const evaluation = (id: string, more: object = {}) =>
      row(`20261126-${id}`, { name: 'evaluation Hill-v0: PPO', kind: 'evaluation', ...more });
    const mine = { name: 'mine', label: 'evaluation Hill-v0: PPO' };
    source.change([
      evaluation('aaaa'),
      evaluation('bbbb'),
      evaluation('cccc', mine),
      evaluation('dddd', mine)
    ]);
    for (const flat of [false, true]) {
      table.setFlat(flat);
      assert.deepEqual(titles(), [
        'evaluation Hill-v0: PPO aaaa',
        'evaluation Hill-v0: PPO bbbb',
        'mine cccc',
        'mine dddd'
      ]);
    }
  });

  test('trials are numbered below their sweep, with a seed if they have several', () => {
    const trial = (id: string, name: string, more: object = {}) =>
      row(id, { name: `cleanrl ppo CartPole-v1 ${name}`, parent: 'sweep', created: 0, ...more });
    source.change([
      row('sweep', { kind: 'sweep' }),
      trial('a', 'trial 2 seed 1'),
      trial('b', 'trial 3 seed 1', { group: 'trial-3' }),
      trial('c', 'trial 4 segment 2 seed 1'),
      trial('d', 'trial 5 seed 1', { label: 'cleanrl trial 5 seed 1', name: 'the best' })
    ]);
    table.toggle(key('sweep'));
    const below = ['trial 2', 'trial 3 seed 1', 'trial 4 segment 2', 'the best'];
    assert.deepEqual(titles(), ['sweep', ...below.map(title => `  ${title}`)]);
  });

  test('without grouping each run has its own line', () => {
    source.change(seeds());
    table.setFlat(true);
    assert.deepEqual(titles(), ['cleanrl ppo seed 3', 'cleanrl ppo seed 2', 'cleanrl ppo seed 1']);
  });

  test('several stores are sections, titled by their shortest distinct names', () => {
    const other = new MemorySource('/runs/bob/mosaic_runs');
    table.setSources([source, other]);
    source.change([row('a'), row('film', { parent: 'a', kind: 'films' })]);
    other.change([row('b')]);
    assert.deepEqual(titles(), ['ada/mosaic_runs', '  a', 'bob/mosaic_runs', '  b']);
    assert.equal(storeSummary(table.snapshot.lines[0]?.members ?? []), '1 run');
    assert.deepEqual([...storeTitles([STORE]).values()], ['mosaic_runs']);
  });

  test('the name of a resumed run distinguishes it from the run that it continues', () => {
    source.change([
      row('a', { name: 'ppo', created: 1 }),
      row('b', { name: 'ppo', continues: 'a', created: 2 }),
      row('c', { name: 'ppo', continues: 'b', created: 3, state: 'failed' })
    ]);
    assert.deepEqual(titles(), ['ppo (resumed 2)', 'ppo (resumed)', 'ppo']);
    assert.equal(table.snapshot.titles.get(key('b')), 'ppo (resumed)', 'also in the title of its tab');
    assert.deepEqual(search('failed'), ['ppo (resumed 2)'], 'whatever else is shown');
    search('');
    assert.deepEqual(
      table.snapshot.lines.map(({ continued }) => continued),
      ['', 'c', 'b'],
      'and each line names the run that continues it'
    );
  });

  test('comparisons and films are counted separately from runs', () => {
    const films = { kind: 'films', parent: 'a', alive: true } as const;
    source.change([
      row('a', { alive: true }),
      row('b'),
      row('f', films),
      row('g', films),
      row('e', { kind: 'checkpoint evaluation', parent: 'a' }),
      row('c', { kind: 'comparison' })
    ]);
    assert.equal(
      countsText(table.snapshot.counts),
      '2 runs, 2 films, 1 evaluation of checkpoints, 1 comparison, 3 alive'
    );
    assert.deepEqual(search('kind:comparison'), ['c']);
    assert.equal(table.snapshot.found, 1, 'so that the table is not shown as empty');
  });

  test('runs that name each other as parents are still shown', () => {
    source.change([row('a', { parent: 'b' }), row('b', { parent: 'a' }), row('c', { parent: 'c' })]);
    assert.equal(table.snapshot.lines.length, 3);
  });

  test('sorts by any column, missing values last, groups by their best run', () => {
    source.change([...seeds(), row('none'), row('high', { last_return: 25 })]);
    table.sortBy('last_return');
    assert.deepEqual(titles(), ['cleanrl ppo', 'high', 'none']);
    table.sortBy('last_return');
    assert.deepEqual(titles(), ['cleanrl ppo', 'high', 'none']);
    source.change([row('a', { hyperparameters: { lr: 0.1 } }), row('b', { hyperparameters: { lr: 0.02 } })]);
    table.sortBy('hyperparameter:lr');
    assert.deepEqual(titles().slice(0, 2), ['a', 'b']);
  });
});

describe('changes', () => {
  test('an unchanged run stays the same object', () => {
    source.change([row('a'), row('b')]);
    const before = source.runs?.get('a');
    source.change([row('b', { state: 'failed' })]);
    assert.equal(source.runs?.get('a'), before);
    assert.equal(source.runs?.get('b')?.row.state, 'failed');
  });

  test('removed runs leave the selection, and the focus moves to the run that takes their place', () => {
    source.change([row('a', { created: 3 }), row('b', { created: 2 }), row('c', { created: 1 })]);
    table.click(key('b'), {});
    source.change([], ['b']);
    assert.deepEqual(table.selected, []);
    assert.equal(table.snapshot.selection.focus, key('c'));
    source.change([row('d')], [], true);
    assert.deepEqual(titles(), ['d']);
  });

  test('changes of ten runs in a thousand are applied within 50 ms', () => {
    source.change(Array.from({ length: 1000 }, (_, i) => row(`r${i}`, { created: i, group: `g${i % 200}` })));
    const times = Array.from({ length: 9 }, (_, step) => {
      const begin = performance.now();
      source.change(Array.from({ length: 10 }, (_, i) => row(`r${i}`, { created: i, group: `g${i}`, step })));
      assert.equal(table.snapshot.total, 1000);
      return performance.now() - begin;
    }).sort((a, b) => a - b);
    assert.ok((times[4] ?? 0) < 50, `${times[4]} ms`);
  });
});

describe('the filter', () => {
  beforeEach(() => {
    source.change([
      row('run-1', {
        name: 'baseline',
        tags: ['paper'],
        hyperparameters: { learning_rate: 0.001 },
        seed: 1,
        last_return: 250.5
      }),
      row('run-2', { name: 'fast', notes: 'diverges', hyperparameters: { learning_rate: 0.1 }, seed: 2 }),
      row('run-3', { name: 'dqn', algorithm: 'dqn', state: 'failed', hyperparameters: { buffer: 5000 } })
    ]);
    table.sortBy('name');
  });

  test('finds runs with all words in names, ids, tags and notes, and without words after a minus', () => {
    assert.deepEqual(search('BASE'), ['baseline']);
    assert.deepEqual(search('run-2'), ['fast']);
    assert.deepEqual(search('paper'), ['baseline']);
    assert.deepEqual(search('diverges ppo'), ['fast']);
    assert.deepEqual(search('-ppo'), ['dqn']);
    assert.deepEqual(search('nothing'), []);
    assert.deepEqual(search('2026'), [], 'part of each id');
  });

  test('finds states', () => {
    source.change([row('lost one', { state: 'lost' })]);
    assert.deepEqual(search('LOST'), ['lost one']);
  });

  test('compares hyperparameters', () => {
    assert.deepEqual(search('learning_rate=1e-3'), ['baseline']);
    assert.deepEqual(search('lr=0.001'), ['baseline']);
    assert.deepEqual(search('lr > 0.01 ppo'), ['fast']);
    assert.deepEqual(search('lr>0.01'), ['fast']);
    assert.deepEqual(search('buffer<=5_000'), ['dqn']);
    assert.deepEqual(search('seed=2'), ['fast']);
    assert.deepEqual(search('last_return>200'), ['baseline']);
    assert.deepEqual(search('best_return>=0 last_return>200'), []);
  });

  test('compares states, workers and other facets', () => {
    assert.deepEqual(search('state:failed'), ['dqn']);
    assert.deepEqual(search('algorithm=PPO state!=failed'), search('ppo'));
    assert.deepEqual(search('-state:failed'), search('ppo'));
    assert.deepEqual(search('seed:1'), ['baseline']);
    assert.deepEqual(search('lr:0.1 steps:500'), ['fast']);
    assert.deepEqual(search('steps>600'), []);
  });

  test('counts the runs that each value of a facet would show', () => {
    const rows = table.entries.map(entry => entry.row);
    const filter = toggled(NO_FILTER, 'state', 'completed');
    const counts = facetCounts(rows, filter);
    assert.deepEqual(
      [...(counts.get('state') ?? [])],
      [
        ['completed', 2],
        ['failed', 1]
      ]
    );
    assert.deepEqual(
      [...(counts.get('algorithm') ?? [])],
      [
        ['ppo', 2],
        ['dqn', 0]
      ]
    );
    table.setFilter(filter);
    assert.deepEqual(titles(), ['baseline', 'fast']);
    assert.deepEqual(toggled(filter, 'state', 'completed').facets.state, []);
  });

  test('opens groups with matching runs', () => {
    source.change(seeds(), ['run-1', 'run-2', 'run-3']);
    assert.equal(search('seed').length, 4);
  });
});

describe('selection', () => {
  const press = (name: string, modifiers = {}) => table.press(name, modifiers, 10);
  const selected = () => table.selected.map(entry => entry.row.id);

  beforeEach(() => {
    source.change(['a', 'b', 'c', 'd'].map((id, i) => row(id, { created: 100 - i })));
  });

  test('with the mouse: one, more with Ctrl, a range with Shift', () => {
    table.click(key('b'), {});
    assert.deepEqual(selected(), ['b']);
    table.click(key('d'), { toggle: true });
    assert.deepEqual(selected(), ['b', 'd']);
    table.click(key('b'), { toggle: true });
    assert.deepEqual(selected(), ['d']);
    table.click(key('a'), { shift: true });
    assert.deepEqual(selected(), ['a', 'b']);
  });

  test('is kept through a filter and when rows are read again', () => {
    table.click(key('b'), {});
    table.setFilter({ ...NO_FILTER, facets: { state: ['failed'] } });
    assert.deepEqual(selected(), []);
    table.setFilter(NO_FILTER);
    table.click(key('b'), {});
    table.setSources([]);
    table.setSources([source]);
    assert.deepEqual([table.snapshot.lines, table.snapshot.selection.focus], [[], key('b')]);
    source.change(
      ['x', 'a', 'b', 'c'].map(id => row(id)),
      [],
      true
    );
    assert.deepEqual(selected(), ['b']);
    table.press('ArrowDown', {}, 5);
    assert.deepEqual(selected(), ['c']);
  });

  test('a right click on a selected run keeps the selection', () => {
    table.click(key('a'), {});
    table.click(key('b'), { toggle: true });
    table.clickForMenu(key('a'));
    assert.deepEqual(selected(), ['a', 'b']);
    table.clickForMenu(key('d'));
    assert.deepEqual(selected(), ['d']);
  });

  test('with the keyboard', () => {
    table.enter();
    press('ArrowDown');
    assert.deepEqual(selected(), ['b']);
    press('ArrowDown', { shift: true });
    assert.deepEqual(selected(), ['b', 'c']);
    press('End');
    assert.deepEqual(selected(), ['d']);
    press('Home', { toggle: true });
    assert.deepEqual(selected(), ['d']);
    press(' ');
    assert.deepEqual(selected(), ['a', 'd']);
    press('a', { toggle: true });
    assert.deepEqual(selected(), ['a', 'b', 'c', 'd']);
    press('Escape');
    assert.deepEqual(selected(), []);
    press('c');
    assert.deepEqual(selected(), ['c']);
    assert.equal(press('F2'), false);
  });

  test('right opens a group, left closes it from within', () => {
    source.change(seeds(), ['a', 'b', 'c', 'd']);
    table.enter();
    press('ArrowRight');
    press('ArrowRight');
    assert.deepEqual(selected(), ['s3']);
    press('ArrowLeft');
    assert.deepEqual(selected().sort(), ['s1', 's2', 's3']);
    press('ArrowLeft');
    assert.equal(table.snapshot.lines.length, 1);
  });
});

test('saved state is restored, and invalid state is ignored', () => {
  table.showColumn('seed', true);
  table.sortBy('seed');
  source.change(seeds());
  table.toggle(table.snapshot.lines[0]?.key ?? '');
  const other = new RunTable();
  other.restore(JSON.parse(JSON.stringify(table.saved)));
  assert.deepEqual(other.saved, table.saved);
  other.setSources([source]);
  source.change(seeds());
  assert.equal(other.snapshot.lines.length, 4); // the group is open
  other.restore({ columns: 5, sort: 'up', filter: { facets: { state: 'x' } } });
  assert.deepEqual(other.saved, new RunTable().saved);
});

test('a search that no run can match gives the reason', () => {
  const problem = (text: string) => filterProblem(text, ['learning_rate', 'batch_size']);
  assert.equal(problem('ppo lr<0.1 last_return>200 -seed=3 batch_size>=1_000 env='), '');
  assert.equal(problem('lr<abc'), 'lr<abc: abc is not a number.');
  assert.equal(problem('lr=linear'), '');
  assert.equal(problem('batch=3'), 'No run has the setting batch. Similar: batch_size.');
  assert.equal(problem('x=3'), 'No run has the setting x.');
  assert.equal(problem('state:failed -state:lost'), '');
  assert.equal(problem('state:faild'), 'No run has the state faild. Did you mean failed?');
  source.change([row('a', { hyperparameters: { learning_rate: 0.1 } })]);
  assert.deepEqual(search('lr<abc'), []);
});

test('texts', () => {
  assert.equal(ageText(NOW - 7200, NOW), '2h');
  assert.equal(
    runSummary(
      row('x', { name: 'my run', alive: true, state: 'running', progress: 0.456, speed: 1234 }),
      NOW
    ),
    'ppo · CartPole-v1 · running · 46% · 1,234/s'
  );
  const failed = row('y', { state: 'failed', reason: 'exited with code 1: ValueError: the loss is NaN' });
  assert.match(runSummary(failed, NOW), /failed: ValueError: the loss is NaN/, 'the cause, not the code');
  assert.deepEqual([1653.4, 0.795].map(speedText), ['1,653', '0.795']);
  assert.equal(sparklinePath([0, 10], 12, 12), 'M1.0 11.0L11.0 1.0');
  assert.equal(sparklinePath([5, 5], 12, 12), 'M1.0 6.0L11.0 6.0');
});
