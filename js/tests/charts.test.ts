import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../src/shared/run-api.ts';
import { projection } from '../src/views/charts/line-painter.ts';
import { type ChartLine, lineRun, linesOf } from '../src/views/charts/lines.ts';
import { marksOf, withMarks } from '../src/views/charts/marks.ts';
import {
  intervalAt,
  nearestIndex,
  nearestPoint,
  readout,
  rowText,
  valuesInRow
} from '../src/views/charts/nearest.ts';
import { color, PALETTE, paletteIndices } from '../src/views/charts/palette.ts';
import {
  emptyAxis,
  type Limits,
  limited,
  limitsProblem,
  steady,
  typedNumber,
  xRange,
  yRange
} from '../src/views/charts/ranges.ts';
import {
  durationTicks,
  evenTicks,
  logTicks,
  logTickTexts,
  tickTexts,
  xSpace
} from '../src/views/charts/ticks.ts';

function line(key: string, x: number[], y: number[], low?: number[], high?: number[]): ChartLine {
  const data = {
    key,
    runs: [key],
    label: key,
    x: Float64Array.from(x),
    y: Float32Array.from(y),
    low: low && Float32Array.from(low),
    high: high && Float32Array.from(high)
  };
  return { data, label: key, color: '#000000' };
}

describe('values under the pointer', () => {
  const few = [line('a', [0, 10, 20], [1, 2, 3]), line('b', [0, 5, 20], [9, 8, 7])];

  test('are the nearest points of all lines, in descending order', () => {
    const found = readout(few, 6, 1, value => Math.abs(value - 2));
    assert.deepEqual(
      found.points.map(({ line, x, y }) => [line.label, x, y]),
      [
        ['b', 5, 8],
        ['a', 10, 2]
      ]
    );
    assert.equal(found.nearest?.line.label, 'a');
    assert.equal(found.more, 0);
  });

  test('are those of the pointer’s row if y is a category, the nearest first', () => {
    const lines = [line('interval', [1, 3], [1, 1]), line('point', [7], [1]), line('other', [2], [0])];
    assert.deepEqual(valuesInRow(lines, 1, 6).map(rowText), ['7', '1 to 3']);
    assert.deepEqual(valuesInRow(lines, 5, 6), []);
  });

  test('of many lines are those around the nearest, with the number of the others', () => {
    const many = [...Array(200).keys()].map(i => line(`run ${i}`, [0, 1], [i, i]));
    const found = readout(many, 0, 1, value => Math.abs(value - 100));
    assert.equal(found.points.length, 12);
    assert.equal(found.nearest?.y, 100);
    assert.ok(found.points.some(point => point === found.nearest));
    assert.equal(found.more, 188);
    assert.equal(readout(many, 0, 1, () => 0, 12, 'run 3').nearest?.y, 3, 'a line that was chosen by a key');
  });

  test('include the interval of a mean', () => {
    const mean = line('mean', [0, 10], [2, 3], [1, 2.5], [4, Number.NaN]);
    assert.deepEqual(intervalAt({ line: mean, x: 0, y: 2 }), [1, 4]);
    assert.equal(intervalAt({ line: mean, x: 10, y: 3 }), null);
    assert.equal(intervalAt({ line: line('run', [0], [1]), x: 0, y: 1 }), null);
  });

  test('omit lines that end before the pointer and skip missing values', () => {
    assert.equal(nearestPoint(line('a', [0, 10], [1, 2]).data, 15, 2), null);
    assert.deepEqual(nearestPoint(line('a', [0, 10, 20], [1, Number.NaN, 3]).data, 11, 2), [0, 1]);
    assert.equal(nearestPoint(line('a', [0], [Number.NaN]).data, 0, 2), null);
    assert.equal(nearestIndex(Float64Array.of(), 1), -1);
    assert.equal(nearestIndex(Float64Array.of(1, 2, 4), 3.5), 2);
  });
});

describe('marks of stages', () => {
  const staged = (key: string, color: string, ...xs: number[]): ChartLine => {
    const plain = line(key, [0, 9], [1, 2]);
    return {
      ...plain,
      color,
      data: { ...plain.data, marks: xs.map((x, i) => ({ x, label: `${i + 1} Maze` })) }
    };
  };
  const found = (...lines: ChartLine[]) => marksOf(lines).map(({ x, label, color }) => [x, label, color]);

  test('have the text colour if all curricula share them, and otherwise their line’s colour', () => {
    assert.deepEqual(found(line('plain', [0], [1])), []);
    assert.deepEqual(found(staged('a', '#aa0000', 0, 5), line('plain', [0], [1])), [
      [0, '1 Maze', null],
      [5, '2 Maze', null]
    ]);
    assert.deepEqual(found(staged('a', '#aa0000', 0, 5), staged('b', '#0000bb', 0, 4)), [
      [0, '1 Maze', null],
      [4, '2 Maze', '#0000bb'],
      [5, '2 Maze', '#aa0000']
    ]);
  });

  test('are kept in view, except at 0 on a logarithmic axis', () => {
    const marks = marksOf([staged('a', '#aa0000', 0, 5)]);
    assert.deepEqual(withMarks([3, 9], marks, false), [0, 9]);
    assert.deepEqual(withMarks([8, 9], marks, true), [5, 9]);
  });

  test('of many curricula are shown only if all share them', () => {
    const many = [1, 2, 3, 4, 5].map(i => staged(`run ${i}`, '#aa0000', 0, i));
    assert.deepEqual(found(...many), [[0, '1 Maze', null]]);
  });
});

describe('ranges', () => {
  test('contain all values in view, their intervals, and a margin', () => {
    const lines = [line('a', [0, 1, 2], [0, 10, 1000], [-5, 5, 5], [20, 20, 2000])];
    const [low, high] = yRange(lines, [0, 1], false) ?? [];
    assert.ok(low !== undefined && high !== undefined && low < -5 && low > -8 && high > 20 && high < 23);
    assert.deepEqual(xRange(lines, false), [0, 2]);
    const [least = 0, most = 0] = yRange([line('a', [0, 9], [10, 20])], [4, 5], false) ?? [];
    assert.ok(
      least < 14.5 && least > 14 && most > 15.5 && most < 16,
      'also of a line that only passes through'
    );
    const [, top = 0] = yRange([line('a', [0, 10], [1, 1], [0, 0], [2, 12])], [0, 5], false) ?? [];
    assert.ok(top > 7, 'an interval is not cut where it leaves');
  });

  test('that contain no value are reported with the axis that excludes all values', () => {
    const lines = [line('a', [0, 4], [10, 20]), line('b', [8, 9], [30, 40])];
    const empty = (x: Limits, y: Limits = [null, null]) =>
      emptyAxis(lines, { limits: x, log: false }, { limits: y, log: false });
    assert.equal(empty([null, null]), null);
    assert.equal(empty([1, 2]), null, 'a line passes through');
    assert.equal(empty([5, 7]), 'x');
    assert.equal(empty([20, 30]), 'x');
    assert.equal(empty([0, 4], [25, 30]), 'y');
    assert.equal(empty([0, 4], [15, 30]), null);
    const all = { limits: [null, null], log: false } as const;
    assert.equal(emptyAxis([line('a', [0, 4], [0, -1])], all, { ...all, log: true }), 'log');
    assert.equal(
      emptyAxis([], { limits: [null, null], log: false }, { limits: [null, null], log: false }),
      'x'
    );
  });

  test('of a logarithmic axis contain only positive values', () => {
    const lines = [line('a', [0, 1, 10], [-1, 0.1, 10])];
    assert.deepEqual(xRange(lines, true), [1, 10]);
    const [low = 0, high = 0] = yRange(lines, [0, 10], true) ?? [];
    assert.ok(low > 0.05 && low < 0.1 && high > 10 && high < 20);
    assert.equal(yRange([line('a', [0], [-1])], [0, 1], true), null);
  });

  test('stay the same while growing lines fit, then grow with a margin', () => {
    assert.deepEqual(steady([0, 100], null, false), [0, 100]);
    const grown = steady([0, 101], [0, 100], false);
    assert.ok(grown[1] > 105 && grown[1] < 110);
    assert.equal(steady([0, 103], grown, false), grown);
    assert.deepEqual(steady([0, 50], grown, false), [0, 50], 'lines were hidden');
    assert.deepEqual(steady([0, 500], grown, false), [0, 500], 'other data');
    assert.ok(steady([1, 110], [1, 100], true)[1] > 110);
  });

  test('of a single value are not empty; typed limits replace their ends', () => {
    const [low = 0, high = 0] = yRange([line('a', [0], [3])], [0, 1], false) ?? [];
    assert.ok(low < 3 && high > 3);
    assert.deepEqual(limited([0, 10], [null, 5], false), [0, 5]);
    assert.deepEqual(limited([1, 10], [0, 5], true), [1, 5], 'no logarithm of 0');
    assert.deepEqual(limited([0, 10], [20, null], false), [0, 10], 'these are no range');
    assert.equal(typedNumber(' 1,000 '), 1000);
    assert.equal(typedNumber('−2e3'), -2000);
    assert.equal(typedNumber(''), null);
    assert.deepEqual(['2k', '1M', '1.5 k', '−2K'].map(typedNumber), [2000, 1e6, 1500, -2000]);
    assert.deepEqual(['ten', 'k', '2kk'].map(typedNumber), [undefined, undefined, undefined]);
  });

  test('that were typed are refused if they are invalid on their axis', () => {
    assert.equal(limitsProblem(200, 1000, 'log'), null);
    assert.equal(limitsProblem(-5, null, 'linear'), null);
    assert.equal(limitsProblem(null, undefined, null), 'number');
    assert.equal(limitsProblem(1000, 200, null), 'order');
    assert.equal(limitsProblem(5, 5, 'linear'), 'order');
    assert.equal(limitsProblem(5, 5, null), null, 'a filter may leave one value');
    assert.equal(limitsProblem(-5, null, 'log'), 'positive');
  });
});

describe('numbers', () => {
  test('of an axis have one unit and enough digits to differ', () => {
    assert.deepEqual(tickTexts([0, 20_000, 40_000], 20_000), ['0', '20k', '40k']);
    assert.deepEqual(tickTexts([0, 0.25, 0.5], 0.25), ['0', '0.25', '0.50']);
    assert.deepEqual(tickTexts([-500, null, 500], 500), ['−500', '', '500']);
    assert.deepEqual(logTickTexts([1e-4, 0.001, 1, 100, 1000, 2e4, 1.25e6]), [
      '1e-4',
      '0.001',
      '1',
      '100',
      '1,000',
      '20k',
      '1.25M'
    ]);
  });

  test('of an axis over almost equal values are all different', () => {
    const around = (middle: number, step: number) => [-2, -1, 0, 1, 2].map(i => middle + i * step);
    const different = (texts: string[]) => assert.equal(new Set(texts).size, 5, texts.join(', '));
    const narrow: [number, number][] = [
      [500, 0.01],
      [3e-4, 1e-7],
      [-1e6, 0.001],
      [1, 1e-9]
    ];
    for (const [middle, step] of narrow) different(tickTexts(around(middle, step), step));
    different(logTickTexts(around(500, 0.0001)));
    different(logTickTexts(around(2e-4, 1e-12)));
    assert.deepEqual(durationTicks([3600, 3605, 3610], 5), ['1h 0m 0s', '1h 0m 5s', '1h 0m 10s']);
    assert.deepEqual(durationTicks([60, 60.5], 0.5), ['1m 0.0s', '1m 0.5s']);
  });

  test('of duration ticks omit zero parts', () => {
    assert.deepEqual(durationTicks([0, 0.25, 0.5], 0.25), ['0', '0.25s', '0.50s']);
    assert.deepEqual(durationTicks([0, 30, 60, 90], 30), ['0', '30s', '1m', '1m 30s']);
    assert.deepEqual(durationTicks([0, 3600, 90_000], 3600), ['0', '1h', '1d 01h']);
  });
});

test('an x axis has at least two ticks, even in a narrow chart', () => {
  for (const width of [200, 230, 300, 900]) {
    for (const end of [99_900, 199_680, 499_000]) {
      assert.ok(evenTicks(1000, end, width / xSpace(width)).length >= 2, `${width} px to ${end}`);
    }
  }
});

describe('ticks of a logarithmic axis', () => {
  test('are 1, 2 and 5 times each power of ten, or fewer if space is short', () => {
    assert.deepEqual(logTicks(104, 10_400, 8), [200, 500, 1000, 2000, 5000, 10_000]);
    assert.deepEqual(logTicks(104, 104_000, 6), [300, 1000, 3000, 10_000, 30_000, 100_000]);
    assert.deepEqual(logTicks(104, 104_000, 4), [1000, 10_000, 100_000]);
    assert.deepEqual(logTicks(1e-12, 1, 5), [1e-12, 1e-9, 1e-6, 1e-3, 1]);
  });

  test('are at least two, even within a decade', () => {
    assert.deepEqual(logTicks(2000, 20_000, 5), [2000, 5000, 10_000, 20_000]);
    assert.deepEqual(logTicks(2000, 9000, 6), [2000, 3000, 5000, 7000]);
    assert.deepEqual(logTicks(2100, 4100, 6), [2500, 3000, 3500, 4000]);
    assert.ok(logTicks(12.6, 13.3, 2).length >= 2);
    for (let low = 1; low < 10; low += 0.37) {
      for (let ratio = 1.001; ratio < 2000; ratio *= 1.3) {
        for (const room of [0, 2, 4, 9]) assert.ok(logTicks(low, low * ratio, room).length >= 2);
      }
    }
  });
});

describe('colours', () => {
  const runs = [...Array(40).keys()].map(i => `run ${i}`);
  const places = new Map(runs.map((run, place) => [run, place]));

  test('depend on a run’s position in its store, not on the selection or its order', () => {
    assert.deepEqual(paletteIndices(['run 2', 'run 1', 'run 15'], places), {
      'run 1': 1,
      'run 2': 2,
      'run 15': 15
    });
    assert.equal(paletteIndices(runs, places)['run 15'], 15);
    assert.equal(color(PALETTE.length + 1), PALETTE[1]);
  });

  test('are spread evenly over a selection', () => {
    const first = PALETTE.length + 1;
    assert.deepEqual(paletteIndices(['run 1', `run ${first}`], places), { 'run 1': 1, [`run ${first}`]: 2 });
    const used = Object.values(paletteIndices(runs.slice(3, 3 + PALETTE.length), places));
    assert.equal(new Set(used).size, PALETTE.length);
  });
});

test('a logarithmic scale spaces powers of ten evenly and maps non-positive values to NaN', () => {
  const project = projection({ min: 1, max: 100, log: true, from: 0, to: 200 });
  assert.deepEqual([1, 10, 100].map(project).map(Math.round), [0, 100, 200]);
  assert.ok(Number.isNaN(project(0)));
  const bound = projection({ min: 1, max: 100, log: true, from: 200, to: 0 }, true);
  assert.ok(Math.round(bound(10)) === 100 && bound(-1) > 1000, 'an interval reaches the foot of the axis');
  assert.ok(Number.isNaN(bound(Number.NaN)));
});

test('an answer is decoded into lines, whose arrays follow the order of its buffers', () => {
  const numbers = (...values: number[]) => Float32Array.from(values).buffer;
  const answer: Answer<'curves'> = {
    result: {
      x_label: 'steps',
      range: [0, 1],
      read: 1,
      notes: [],
      lines: [
        {
          key: 'a',
          runs: ['a'],
          label: '<b>a</b>',
          x: { dtype: 'float64', length: 2 },
          y: { dtype: 'float32', length: 2 },
          low: { dtype: 'float32', length: 2 },
          high: { dtype: 'float32', length: 2 }
        },
        {
          key: 'b',
          runs: ['b'],
          label: 'b',
          x: { dtype: 'float64', length: 1 },
          y: { dtype: 'float32', length: 1 },
          thin: 'a'
        }
      ]
    },
    buffers: [
      Float64Array.of(0, 1).buffer,
      numbers(1, 2),
      numbers(0, 1),
      numbers(2, 3),
      Float64Array.of(5).buffer,
      numbers(7)
    ]
  };
  const [a, b] = linesOf(answer);
  assert.deepEqual([...(a?.high ?? [])], [2, 3]);
  assert.deepEqual([...(b?.x ?? []), ...(b?.y ?? [])], [5, 7]);
  assert.equal(b?.thin, 'a');
  assert.throws(() => linesOf({ ...answer, buffers: [] }), /fewer numbers/);
});

test('a line shows one run or a group, even a group of one run', () => {
  const { data } = line('run', [0], [1]);
  assert.equal(lineRun(data), 'run');
  assert.equal(lineRun({ ...data, key: '["sb3", 1] run', thin: '["sb3", 1]' }), 'run', 'beside a mean');
  assert.equal(lineRun({ ...data, key: '["sb3", 1]' }), null);
  assert.equal(lineRun({ ...data, key: 'run', runs: ['run', 'other'] }), null);
});
