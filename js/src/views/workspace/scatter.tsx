/** A scatter plot of any setting against any result: a dot per run. */

import { type ReactNode, useMemo, useState } from 'react';
import { shortened } from '../../shared/names.ts';
import { settingText } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { Field, Select } from '../controls.tsx';
import { trans } from '../translation.ts';
import { useSize } from '../use-size.ts';
import { axisOf, placeOn, ticksOf } from './axes.ts';
import type { Contents } from './contents.ts';
import { KeyedPlot, ResultChoice } from './plot-parts.tsx';
import { resultTitle } from './run-table.tsx';
import { result, resultText, setting, settingNames } from './settings.ts';

const HEIGHT = 460;
const LEFT = 64;
const RIGHT = 24;
const TOP = 34;
const BOTTOM = 42;
const TICK_PX = 90;

/** `rows`: the runs with a dot; `all`: the runs whose settings can be chosen. */
export function Scatter(props: Contents & { all: readonly RunRow[] }): ReactNode {
  const { rows, all, names, settings: differing, results, state, colorOf, change } = props;
  const settings = settingNames(all);
  const [ref, width] = useSize();
  const [over, setOver] = useState<string | null>(null);
  const name = state.scatterX ?? differing.find(setting => setting !== 'group') ?? settings[0] ?? 'seed';
  const title = resultTitle(state.result);
  const x = useMemo(() => axisOf(name, rows, results), [name, rows, results]);
  const y = useMemo(() => axisOf(state.result, rows, results, false), [state.result, rows, results]);
  const leftOf = (part: number) => LEFT + 12 + part * (width - LEFT - RIGHT - 24);
  const top = (part: number) => TOP + 8 + (1 - part) * (HEIGHT - TOP - BOTTOM - 16);
  const dots = rows
    .flatMap(row => {
      const [across, up] = [placeOn(x, setting(row, name)), placeOn(y, result(row, state.result, results))];
      return across === null || up === null ? [] : [{ row, left: leftOf(across), top: top(up) }];
    })
    .sort((a, b) => a.left - b.left || a.top - b.top);
  const current = dots.find(({ row }) => row.id === over);
  return (
    <>
      <div className="mosaic-view-bar">
        <Field name={trans.__('Setting')}>
          <Select
            value={name}
            options={[...new Set([name, ...differing, ...settings])].map(other => [other, other])}
            choose={scatterX => change({ scatterX })}
          />
        </Field>
        <ResultChoice {...props} />
        <span className="mosaic-dim">{trans.__('%1 of %2 runs', dots.length, rows.length)}</span>
      </div>
      <KeyedPlot
        place={ref}
        height={HEIGHT}
        label={trans.__('%1 against %2. Arrow keys go through the runs.', title, name)}
        keys={['ArrowLeft', 'ArrowRight']}
        runs={dots.map(({ row }) => row.id)}
        current={
          current && {
            id: current.row.id,
            name: names.get(current.row.id) ?? '',
            color: colorOf(current.row.id),
            values: [
              [name, settingText(setting(current.row, name))],
              [title, resultText(state.result, result(current.row, state.result, results))]
            ],
            style: {
              transform: `translate(${current.left > width / 2 ? '-100%' : '0'}, 0)`,
              left: current.left + (current.left > width / 2 ? -14 : 14),
              top: Math.min(current.top, HEIGHT - 80)
            }
          }
        }
        choose={setOver}
      >
        {width > 0 && (
          <svg aria-hidden="true" style={{ height: HEIGHT }}>
            {ticksOf(y, 6).map(tick => (
              <g key={tick.text}>
                <line
                  className="mosaic-grid-line"
                  x1={LEFT}
                  x2={width - RIGHT}
                  y1={top(tick.place)}
                  y2={top(tick.place)}
                />
                <text x={LEFT - 6} y={top(tick.place) + 4} textAnchor="end">
                  {tick.text}
                </text>
              </g>
            ))}
            {ticksOf(x, Math.max(2, Math.floor(width / TICK_PX))).map(tick => (
              <g key={tick.text}>
                <line
                  className="mosaic-grid-line"
                  x1={leftOf(tick.place)}
                  x2={leftOf(tick.place)}
                  y1={TOP}
                  y2={HEIGHT - BOTTOM}
                />
                <text x={leftOf(tick.place)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
                  {shortened(tick.text, 14)}
                </text>
              </g>
            ))}
            <text x={width - RIGHT} y={HEIGHT - 8} textAnchor="end" className="mosaic-axis-title">
              {name}
            </text>
            <text x={8} y={18} className="mosaic-axis-title">
              {title}
            </text>
            {dots.map(dot => (
              <circle
                key={dot.row.id}
                cx={dot.left}
                cy={dot.top}
                r={dot.row.id === over ? 7 : 4.5}
                fill={colorOf(dot.row.id)}
                fillOpacity={over === null || dot.row.id === over ? 0.85 : 0.35}
                stroke="var(--mosaic-chart-back)"
                onPointerEnter={() => setOver(dot.row.id)}
                onPointerLeave={() => setOver(null)}
              />
            ))}
          </svg>
        )}
        {dots.length === 0 && (
          <p className="mosaic-chart-message">{trans.__('No visible run has both of these values.')}</p>
        )}
      </KeyedPlot>
    </>
  );
}
