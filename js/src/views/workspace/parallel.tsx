/** Parallel coordinates: a line per run through its settings to a result; a brush on an axis filters runs. */

import { type ReactNode, useMemo, useState } from 'react';
import type { RunRow } from '../../shared/run-api.ts';
import { rampColor } from '../charts/palette.ts';
import { trans } from '../translation.ts';
import { useSize } from '../use-size.ts';
import { axisOf, placeOn, ticksOf } from './axes.ts';
import type { Contents } from './contents.ts';
import { Axis, AxisLimits, TICKS } from './parallel-axis.tsx';
import { bridgingPath, brokenPath, parallelLayout } from './parallel-layout.ts';
import { KeyedPlot, ResultChoice } from './plot-parts.tsx';
import { resultTitle } from './run-table.tsx';
import { type Filter, textNamed, valueNamed } from './settings.ts';

const HEIGHT = 420;
const TOP = 34;
const BOTTOM = 16;
/** With more runs, individual colours are not distinguishable: the colour shows the result. */
const MAX_OWN_COLORS = 12;

interface ParallelProps extends Contents {
  readonly axes: readonly string[];
}

export function ParallelCoordinates(props: ParallelProps): ReactNode {
  const { rows, filtered, names, results, state, change } = props;
  const [ref, available] = useSize();
  const [over, setOver] = useState<string | null>(null);
  const axes = useMemo(
    () =>
      [...props.axes.filter(name => name !== state.result), state.result].map(name =>
        axisOf(name, rows, results)
      ),
    [props.axes, state.result, rows, results]
  );
  const texts = axes.map(axis => ({
    title: resultTitle(axis.name),
    ticks: ticksOf(axis, TICKS).map(({ text }) => text)
  }));
  const { width, left: lefts } = parallelLayout(texts, available);
  const leftOf = (i: number) => lefts[i] ?? 0;
  const top = (part: number) => TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
  const hidden = new Set(state.hidden);
  const positions = (row: RunRow) =>
    axes.map((axis, i): [number, number] | null => {
      const part = placeOn(axis, valueNamed(row, axis.name, results));
      return part === null ? null : [leftOf(i), top(part)];
    });
  const setFilter = (name: string, filter: Filter | null) => {
    const { [name]: _, ...filters } = state.filters;
    change({ filters: filter ? { ...filters, [name]: filter } : filters });
  };
  const visible = rows.filter(({ id }) => !hidden.has(id));
  const byResult = visible.length > MAX_OWN_COLORS;
  const colorOf = (row: RunRow) => {
    const axis = axes.at(-1);
    const part = byResult && axis ? placeOn(axis, valueNamed(row, axis.name, results)) : null;
    return part === null ? props.colorOf(row.id) : rampColor(part);
  };
  const selected = rows.find(({ id }) => id === over);
  const passing = visible.filter(({ id }) => !filtered.has(id));
  return (
    <>
      <div className="mosaic-view-bar">
        <ResultChoice {...props} />
        <span className="mosaic-dim">{trans.__('%1 of %2 runs', passing.length, rows.length)}</span>
        {width > available && available > 0 && (
          <span className="mosaic-dim">{trans.__('%1 axes: scroll to the right →', axes.length)}</span>
        )}
        {byResult && (
          <span className="mosaic-dim">
            {trans.__('colour: low')} <i className="mosaic-ramp" style={{ background: ramp() }} />{' '}
            {trans.__('high')}
          </span>
        )}
      </div>
      <KeyedPlot
        place={ref}
        height={HEIGHT}
        label={trans.__(
          'Parallel coordinates of %1 runs. Up and down arrow keys go through the runs.',
          passing.length
        )}
        keys={['ArrowUp', 'ArrowDown']}
        runs={passing.map(({ id }) => id)}
        current={
          selected && {
            id: selected.id,
            name: names.get(selected.id) ?? '',
            color: colorOf(selected),
            values: axes.map(({ name }) => [resultTitle(name), textNamed(selected, name, results)]),
            style: { transform: 'translate(8px, 8px)', top: 'auto', bottom: 16 }
          }
        }
        choose={setOver}
      >
        {available > 0 && (
          <svg aria-hidden="true" style={{ width, height: HEIGHT }}>
            <g fill="none" className="mosaic-parallel-lines">
              {visible.map(row => {
                const out = filtered.has(row.id);
                const points = positions(row);
                return (
                  <g
                    key={row.id}
                    stroke={out ? 'var(--mosaic-chart-grid)' : colorOf(row)}
                    strokeOpacity={out ? 0.6 : over === null || over === row.id ? 0.85 : 0.2}
                    strokeWidth={over === row.id ? 2.5 : 1.2}
                    onPointerEnter={() => !out && setOver(row.id)}
                    onPointerLeave={() => setOver(null)}
                  >
                    <path d={brokenPath(points)} />
                    <path d={bridgingPath(points)} strokeDasharray="2 4" />
                  </g>
                );
              })}
            </g>
            {axes.map((axis, i) => (
              <Axis
                key={axis.name}
                axis={axis}
                x={leftOf(i)}
                top={top}
                title={resultTitle(axis.name)}
                last={i === axes.length - 1}
                filter={state.filters[axis.name]}
                set={filter => setFilter(axis.name, filter)}
              />
            ))}
          </svg>
        )}
      </KeyedPlot>
      <div className="mosaic-axis-limits">
        {axes.map(axis => (
          <AxisLimits
            key={axis.name}
            axis={axis}
            title={resultTitle(axis.name)}
            filter={state.filters[axis.name]}
            set={filter => setFilter(axis.name, filter)}
          />
        ))}
      </div>
    </>
  );
}

function ramp(): string {
  return `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(rampColor).join(', ')})`;
}
