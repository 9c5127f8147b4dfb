import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Answer, CurvesRequest, Method, Methods, RunRow } from '../src/shared/run-api.ts';
import type { RunSource } from '../src/shared/run-source.ts';
import { axisOf, brushed, brushOf, placeOn, ticksOf } from '../src/views/workspace/axes.ts';
import { ChartData, type CurveSettings } from '../src/views/workspace/chart-data.ts';
import { bridgingPath, brokenPath, parallelLayout } from '../src/views/workspace/parallel-layout.ts';
import {
  differing,
  distinctNames,
  groupingNames,
  groupNumbers,
  passes,
  setting,
  sorted,
  varying
} from '../src/views/workspace/settings.ts';
import * as states from '../src/views/workspace/state.ts';
import { row as anyRow } from './memory-source.ts';

function row(id: string, hyperparameters: Record<string, unknown> = {}, more: Partial<RunRow> = {}): RunRow {
  return anyRow(id, { seed: 1, hyperparameters, ...more });
}

test('a sweep is charted by its trials, and runs without curves only if no others are selected', () => {
  const rows = [
    row('sweep', {}, { kind: 'sweep' }),
    row('trial-1', {}, { parent: 'sweep' }),
    row('trial-2', {}, { parent: 'sweep' }),
    row('films', {}, { kind: 'films', parent: 'trial-1' }),
    row('evaluation', {}, { kind: 'evaluation' }),
    row('other')
  ];
  assert.deepEqual(states.chartedRuns(['sweep'], rows), ['trial-1', 'trial-2']);
  assert.deepEqual(states.chartedRuns(['trial-2', 'sweep', 'evaluation'], rows), ['trial-2', 'trial-1']);
  assert.deepEqual(states.chartedRuns(['other', 'trial-1', 'evaluation'], rows), ['other', 'trial-1']);
  assert.deepEqual(states.chartedRuns(['evaluation'], rows), ['evaluation']);
  const comparison = row('comparison', {}, { kind: 'comparison' });
  assert.deepEqual(states.chartedRuns(['comparison'], [...rows, comparison]), [], 'which no chart can show');
  const staged = [row('curriculum'), row('stage-1', {}, { parent: 'curriculum' })];
  assert.deepEqual(
    states.chartedRuns(['curriculum'], staged),
    ['curriculum'],
    'which has the curves of its stages'
  );
});

test('a line of parallel coordinates has a gap at an axis without a value of its run', () => {
  assert.equal(brokenPath([[0, 1], [2, 3], null, [6, 7], [8, 9]]), 'M0.0,1.0L2.0,3.0M6.0,7.0L8.0,9.0');
  assert.equal(brokenPath([null, [2, 3], null]), 'M2.0,3.0h0', 'a dot');
  assert.equal(bridgingPath([[0, 1], [2, 3], null, [6, 7], [8, 9], null]), 'M2.0,3.0L6.0,7.0', 'dashed');
});

test('axes of parallel coordinates have room for their titles and ticks', () => {
  const axes = [
    { title: 'worker', ticks: ['tianshou', 'rllib'] },
    { title: 'env', ticks: ['LunarLander-v3'] },
    { title: 'last return', ticks: ['−100', '500'] }
  ];
  const tight = parallelLayout(axes, 100);
  assert.deepEqual(tight.left.map(Math.round), [67, 181, 254]);
  assert.equal(tight.width - Math.round(tight.left[2] as number), 42);
  const wide = parallelLayout(axes, tight.width + 40);
  assert.deepEqual(wide.left.map(Math.round), [67, 201, 294]);
});

function namesOf(rows: readonly RunRow[]): ReadonlyMap<string, string> {
  return distinctNames(rows, new Map());
}

describe('settings', () => {
  const rows = [
    row('a', { gamma: 0.9, rate: 1e-3, nested: [1] }),
    row('b', { gamma: 0.9, rate: 1e-4, nested: [1], extra: true }, { seed: 2 })
  ];

  test('that differ are shown, common ones first; a setting of only some runs differs', () => {
    assert.deepEqual(differing(rows), ['seed', 'extra', 'rate']);
    assert.deepEqual(differing(rows.slice(0, 1)), []);
    assert.deepEqual(differing([]), []);
    assert.deepEqual(varying(rows), ['seed', 'rate'], 'an axis of one value says nothing');
  });

  test('with several values are offered for grouping first, then all others', () => {
    const others = ['worker', 'algorithm', 'env', 'group', 'total_steps', 'extra', 'gamma', 'nested'];
    assert.deepEqual(groupingNames(rows), { varying: ['seed', 'rate'], others });
    const grouped = groupingNames([row('a', {}, { group: 'g' }), row('b')]);
    assert.deepEqual(grouped.varying, ['group'], 'runs without a group are one, too');
  });

  test('name a group as charts do', () => {
    const group = '20261121-053012-sb3-ppo-CartPole-v1-ac25';
    assert.equal(setting(row('a', {}, { group }), 'group'), 'sb3-ppo-CartPole-v1-ac25');
    assert.equal(setting(row('a', {}, { group: 'baseline' }), 'group'), 'baseline');
  });

  test('number groups in the order of their means, and never group different libraries', () => {
    const libraries = [
      row('a', {}, { worker: 'sb3' }),
      row('b', {}, { worker: 'cleanrl' }),
      row('c', {}, { worker: 'sb3', seed: 2 })
    ];
    assert.deepEqual([...groupNumbers(libraries, ['group']).values()], [0, 1, 0]);
    assert.equal(
      groupNumbers(libraries.toReversed(), ['group']).get('b'),
      1,
      'in whichever order they are shown'
    );
    assert.deepEqual([...groupNumbers(libraries, ['seed']).values()], [0, 1, 2]);
  });

  test('and results filter runs', () => {
    const results = { a: { loss: 1 }, b: { loss: 5 } };
    const left = (filters: Parameters<typeof passes>[1]) =>
      rows.filter(one => passes(one, filters, results)).map(({ id }) => id);
    assert.deepEqual(left({}), ['a', 'b']);
    assert.deepEqual(left({ rate: { low: 5e-4, high: null } }), ['a']);
    assert.deepEqual(left({ loss: { low: null, high: 4 } }), ['a']);
    assert.deepEqual(left({ extra: { values: ['true'] } }), ['b']);
    assert.deepEqual(left({ nothing: { low: 0, high: 1 } }), [], 'without a value');
  });

  test('sort rows, missing values last', () => {
    const three = [...rows, row('c', { rate: 1e-5 }, { seed: null })];
    const ids = (column: string, descending: boolean) =>
      sorted(three, { column, descending }, {}).map(({ id }) => id);
    assert.deepEqual(ids('rate', false), ['c', 'b', 'a']);
    assert.deepEqual(ids('seed', true), ['b', 'a', 'c']);
    assert.deepEqual(ids('seed', false), ['a', 'b', 'c']);
  });

  test('trials of one sweep are named by their numbers', () => {
    const trial = (id: string, parent: string | null) =>
      row(id, {}, { name: `cleanrl ppo CartPole-v1 trial ${id} seed 1`, parent });
    assert.deepEqual([...namesOf([trial('1', 's'), trial('2', 's')]).values()], ['trial 1', 'trial 2']);
    const stage = row('3', {}, { name: 'cleanrl ppo CartPole-v1 seed 1 stage 2', parent: 's' });
    assert.deepEqual([...namesOf([trial('1', 's'), stage]).values()], ['trial 1', 'stage 2']);
    const [first] = namesOf([trial('1', 's'), trial('1', 't')]).values();
    assert.equal(first, 'cleanrl ppo CartPole-v1 trial 1 seed 1 1', 'of two sweeps they are not');
  });

  test('a resumed run has the title that the runs panel gives it', () => {
    const first = row('x-1', {}, { name: 'ppo' });
    const resumed = row('x-2', {}, { name: 'ppo', continues: 'x-1' });
    const titles = new Map([['x-2', 'ppo (resumed)']]);
    assert.deepEqual([...distinctNames([first, resumed], titles).values()], ['ppo', 'ppo (resumed)']);
  });

  test('equal names are extended by the end of the id', () => {
    const named = [row('x-1', {}, { name: 'same' }), row('x-2', {}, { name: 'same' }), row('x-3')];
    assert.deepEqual([...namesOf(named).values()], ['same 1', 'same 2', 'x-3']);
  });
});

describe('the state of a workspace', () => {
  const three = {
    ...states.initialState(['a', 'b']),
    charts: states.defaultCharts(['r', 'system/cpu', 'l'])
  };

  test('begins with charts of the first metrics, except system metrics', () => {
    assert.deepEqual(
      three.charts.map(({ metric }) => metric),
      ['r', 'l']
    );
  });

  test('charts are added, moved, resized within limits, and removed', () => {
    const added = states.addChart(three, 'x');
    assert.deepEqual(
      added.charts?.map(({ id }) => id),
      ['0', '1', '2']
    );
    const order = (state: typeof added) => state.charts?.map(({ metric }) => metric).join('');
    assert.equal(order(states.moveChart(added, '2', 0)), 'xrl');
    assert.equal(order(states.moveChart(added, '0', 99)), 'lxr');
    assert.equal(order(states.moveChart(added, '0', -1)), 'rlx');
    assert.equal(order(states.removeChart(added, '1')), 'rx');
    const tall = states.changeChart(added, '0', { height: 99_999, span: 0 });
    assert.deepEqual([tall.charts?.[0]?.height, tall.charts?.[0]?.span], [900, 1]);
  });

  test('is restored unless it is of another version', () => {
    const saved = JSON.parse(JSON.stringify({ ...three, smoothing: 0.5, hidden: ['b'] }));
    const same = states.restoredState(saved, []);
    assert.equal(same.smoothing, 0.5);
    assert.deepEqual(same.runs, ['a', 'b']);
    assert.deepEqual(states.restoredState(saved, ['c', 'b']).runs, ['c', 'b']);
    assert.equal(states.restoredState({ version: 7 }, ['a']).charts, null);
    assert.equal(states.restoredState(undefined, ['a']).x, 'step');
  });

  test('one run is shown alone, then all again', () => {
    const alone = states.showOnly(three, 'a');
    assert.deepEqual(alone.hidden, ['b']);
    assert.deepEqual(states.showOnly(alone, 'a').hidden, []);
    assert.deepEqual(states.toggleRun(alone, 'b').hidden, []);
  });
});

describe('an axis of values', () => {
  const rows = [1e-4, 1e-3, 1e-2].map((rate, i) => row(`${i}`, { rate, kind: ['x', 'y', 'z'][i], n: 5 }));

  test('is logarithmic over several orders of magnitude, and lists values that are not numbers', () => {
    const rate = axisOf('rate', rows, {});
    assert.ok(rate.log);
    assert.equal(Math.round((placeOn(rate, 1e-3) ?? 0) * 1000), 500);
    assert.deepEqual(
      ticksOf(rate, 5).map(({ text }) => text),
      ['0.0001', '0.001', '0.01']
    );
    const kind = axisOf('kind', rows, {});
    assert.deepEqual(kind.texts, ['x', 'y', 'z']);
    assert.equal(placeOn(kind, 'y'), 0.5);
    assert.equal(placeOn(kind, null), null);
    assert.equal(placeOn(axisOf('n', rows, {}), 5), 0.5);
  });

  test('a brush becomes a filter, and the filter is shown as that brush', () => {
    const rate = axisOf('rate', rows, {});
    assert.deepEqual(brushed(rate, 0.5, -1), { low: null, high: 0.001 });
    assert.equal(brushed(rate, 0, 1), null);
    assert.deepEqual(
      brushOf(rate, { low: 1e-3, high: null })?.map(place => Math.round(100 * place)),
      [50, 100]
    );
    const close = { ...rate, log: false, low: 499.98, high: 500.02 };
    assert.deepEqual(brushed(close, 0.25, 0.75), { low: 499.99, high: 500.01 });
    const kind = axisOf('kind', rows, {});
    assert.deepEqual(brushed(kind, 0.4, 1), { values: ['y', 'z'] });
  });
});

/** A store whose answers the test triggers. */
class SlowStore {
  calls: { params: CurvesRequest; answer: (read?: number) => void; fail: (reason: Error) => void }[] = [];

  get source(): RunSource {
    return this as unknown as RunSource;
  }

  call<M extends Method>(_method: M, params: Methods[M][0]): Promise<Answer<M>> {
    return new Promise((resolve, reject) => {
      const curves = params as CurvesRequest;
      const lines = curves.runs.map(run => ({
        key: run,
        runs: [run],
        label: run,
        x: { dtype: 'float64' as const, length: 1 },
        y: { dtype: 'float32' as const, length: 1 }
      }));
      const buffers = lines.flatMap(() => [
        Float64Array.of(1).buffer,
        Float32Array.of(curves.smoothing).buffer
      ]);
      const answer = (read = 1) =>
        resolve({
          result: { x_label: '', range: null, read, notes: [], lines },
          buffers
        } as unknown as Answer<M>);
      this.calls.push({ params: curves, answer, fail: reject });
    });
  }
}

const SETTINGS: CurveSettings = {
  ...{ metric: 'r', x: 'step', start: null, end: null, points: 400 },
  ...{ smoothing: 0, outliers: false, group_by: null }
};
const settled = () => new Promise(resolve => setImmediate(resolve));

describe('the data of a chart', () => {
  let store: SlowStore;
  let data: ChartData;

  beforeEach(() => {
    store = new SlowStore();
    data = new ChartData(store.source, () => {});
    data.setVisible(true);
  });

  afterEach(() => data.end());

  test('are requested while the chart is visible, and later only for new or grown runs', async () => {
    data.setVisible(false);
    data.want(SETTINGS, ['a', 'b']);
    assert.equal(store.calls.length, 0);
    data.setVisible(true);
    assert.deepEqual(store.calls[0]?.params.runs, ['a', 'b']);
    data.grown(['b', 'elsewhere']);
    data.want(SETTINGS, ['a', 'b', 'c']);
    assert.equal(store.calls.length, 1, 'one at a time');
    store.calls[0]?.answer();
    await settled();
    assert.deepEqual(store.calls[1]?.params.runs, ['b', 'c']);
    const kept = data.lines.get('a');
    store.calls[1]?.answer();
    await settled();
    assert.deepEqual([...data.lines.keys()], ['a', 'b', 'c']);
    assert.equal(data.lines.get('a'), kept, 'an unchanged line is the same object');
  });

  test('of new settings replace those still being requested', async () => {
    data.want(SETTINGS, ['a']);
    data.want({ ...SETTINGS, smoothing: 0.5 }, ['a']);
    store.calls[0]?.answer();
    await settled();
    assert.equal(data.lines.size, 0);
    const [smooth, raw] = store.calls.slice(1);
    assert.deepEqual([smooth?.params.smoothing, raw?.params.smoothing], [0.5, 0], 'the raw line behind');
    smooth?.answer();
    raw?.answer();
    await settled();
    assert.deepEqual([data.lines.get('a')?.y[0], data.raw.get('a')?.y[0]], [0.5, 0]);
    data.want(SETTINGS, ['a']);
    assert.equal(data.drawn?.smoothing, 0.5, 'these lines are drawn until the next answer');
  });

  test('of groups are requested again for all runs', async () => {
    data.want({ ...SETTINGS, group_by: ['algorithm'] }, ['a', 'b']);
    store.calls[0]?.answer();
    await settled();
    data.grown(['b']);
    assert.deepEqual(store.calls[1]?.params.runs, ['a', 'b']);
    data.want(SETTINGS, ['a', 'b']);
    store.calls[1]?.answer();
    await settled();
    assert.ok(data.isOf(['algorithm']), 'the former lines stay until there is an answer');
    store.calls[2]?.answer();
    await settled();
    assert.ok(data.isOf(null));
  });

  test('that cannot be read leave the previous lines, with the reason', async () => {
    data.want(SETTINGS, ['a']);
    store.calls[0]?.answer();
    await settled();
    data.grown(['a']);
    store.calls[1]?.fail(new Error('The server is gone.'));
    await settled();
    assert.equal(data.error, 'The server is gone.');
    assert.equal(data.lines.size, 1);
  });
});
