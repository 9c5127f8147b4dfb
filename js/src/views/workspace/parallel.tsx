/** Parallel coordinates: a line a run through its settings to a result. A brush on an axis filters the runs everywhere. */

import { type PointerEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import type { RunRow } from '../../shared/run-api.ts';
import { rampColor } from '../charts/palette.ts';
import type { Translation } from '../translation.ts';
import { axisOf, brushed, brushOf, placeOn, ticksOf, type ValueAxis } from './axes.ts';
import { ResultChoice } from './result-choice.tsx';
import { resultTitle } from './run-table.tsx';
import { type Filter, type Results, settingText, valueNamed } from './settings.ts';
import type { WorkspaceState } from './state.ts';
import { TypedRange } from './typed-range.tsx';
import { useSize } from './use-size.ts';

const HEIGHT = 420;
const TOP = 34;
const BOTTOM = 16;
const SIDE = 60;
/** Between two axes, with short titles: with less room, the axes scroll. */
const LEAST_GAP = 90;
const LETTER_PX = 6.6;
const MOST_LETTERS = { title: 22, tick: 16 };
const TICKS = 8;
const CLICK = 0.01;
const BRUSH_PX = 26;
/** With more runs than this, their own colours are noise: the colour is that of the result. */
const MOST_OWN_COLORS = 12;

export interface ParallelProps {
  readonly rows: readonly RunRow[];
  readonly filtered: ReadonlySet<string>;
  readonly hidden: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly axes: readonly string[];
  readonly settings: readonly string[];
  readonly resultNames: readonly string[];
  readonly results: Results;
  readonly state: WorkspaceState;
  readonly colorOf: (run: string) => string;
  readonly trans: Translation;
  readonly change: (change: Partial<WorkspaceState>) => void;
}

export function ParallelCoordinates(props: ParallelProps): ReactNode {
  const { rows, filtered, names, results, state, trans, change } = props;
  const [place, room] = useSize();
  const [over, setOver] = useState<string | null>(null);
  const axes = useMemo(
    () =>
      [...props.axes.filter(name => name !== state.result), state.result].map(name =>
        axisOf(name, rows, results)
      ),
    [props.axes, state.result, rows, results]
  );
  const { gap, side } = roomOf(axes, trans);
  const width = Math.max(room, 2 * side + gap * (axes.length - 1));
  const left = (i: number) => side + (i * (width - 2 * side)) / Math.max(1, axes.length - 1);
  const top = (part: number) => TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
  const hidden = new Set(props.hidden);
  const path = (row: RunRow) => {
    let text = '';
    let open = false;
    axes.forEach((axis, i) => {
      const part = placeOn(axis, valueNamed(row, axis.name, results));
      if (part !== null) text += `${open ? 'L' : 'M'}${left(i).toFixed(1)},${top(part).toFixed(1)}`;
      open = part !== null;
    });
    return text;
  };
  const setFilter = (name: string, filter: Filter | null) => {
    const { [name]: _, ...others } = state.filters;
    change({ filters: filter ? { ...others, [name]: filter } : others });
  };
  const shown = rows.filter(({ id }) => !hidden.has(id));
  const byResult = shown.length > MOST_OWN_COLORS;
  const colorOf = (row: RunRow) => {
    const axis = axes.at(-1);
    const part = byResult && axis ? placeOn(axis, valueNamed(row, axis.name, results)) : null;
    return part === null ? props.colorOf(row.id) : rampColor(part);
  };
  const selected = rows.find(({ id }) => id === over);
  return (
    <>
      <div className="mosaic-view-bar">
        <ResultChoice {...props} result={state.result} set={result => change({ result })} />
        <span className="mosaic-dim">
          {trans.__('%1 of %2 runs', shown.filter(({ id }) => !filtered.has(id)).length, rows.length)}
        </span>
        {width > room && room > 0 && (
          <span className="mosaic-dim">{trans.__('%1 axes: scroll to the right →', axes.length)}</span>
        )}
        {byResult && (
          <span className="mosaic-dim">
            {trans.__('colour: low')} <i className="mosaic-ramp" style={{ background: ramp() }} />{' '}
            {trans.__('high')}
          </span>
        )}
      </div>
      <div ref={place} className="mosaic-axes-plot" style={{ height: HEIGHT }}>
        {room > 0 && (
          <svg
            role="img"
            style={{ width }}
            aria-label={trans.__('Parallel coordinates of %1 runs', shown.length)}
          >
            <g fill="none">
              {shown.map(row => {
                const out = filtered.has(row.id);
                return (
                  <path
                    key={row.id}
                    d={path(row)}
                    stroke={out ? 'var(--mosaic-chart-grid)' : colorOf(row)}
                    strokeOpacity={out ? 0.6 : over === null || over === row.id ? 0.85 : 0.2}
                    strokeWidth={over === row.id ? 2.5 : 1}
                    onPointerEnter={() => !out && setOver(row.id)}
                    onPointerLeave={() => setOver(null)}
                  />
                );
              })}
            </g>
            {axes.map((axis, i) => (
              <Axis
                key={axis.name}
                axis={axis}
                x={left(i)}
                top={top}
                title={resultTitle(axis.name, trans)}
                last={i === axes.length - 1}
                filter={state.filters[axis.name]}
                set={filter => setFilter(axis.name, filter)}
              />
            ))}
          </svg>
        )}
        {selected && (
          <div
            className="mosaic-values"
            style={{ transform: 'translate(8px, 8px)', top: 'auto', bottom: 16 }}
          >
            <div className="mosaic-values-nearest">
              <i style={{ background: colorOf(selected) }} />
              <span>{names.get(selected.id)}</span>
            </div>
            {axes.map(({ name }) => (
              <div key={name}>
                <span>{resultTitle(name, trans)}</span>
                <b>{settingText(valueNamed(selected, name, results))}</b>
              </div>
            ))}
          </div>
        )}
      </div>
      <div className="mosaic-axis-limits">
        {axes.map(axis => (
          <AxisLimits
            key={axis.name}
            axis={axis}
            title={resultTitle(axis.name, trans)}
            filter={state.filters[axis.name]}
            trans={trans}
            set={filter => setFilter(axis.name, filter)}
          />
        ))}
      </div>
    </>
  );
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The pixels between two axes and beside the outer ones in which no title meets a title, no number an axis. */
function roomOf(axes: readonly ValueAxis[], trans: Translation): { gap: number; side: number } {
  const pixels = (texts: readonly string[], most: number) =>
    LETTER_PX * Math.max(0, ...texts.map(text => Math.min(text.length, most)));
  const title = pixels(
    axes.map(axis => resultTitle(axis.name, trans)),
    MOST_LETTERS.title
  );
  const tick = pixels(
    axes.flatMap(axis => ticksOf(axis, TICKS).map(({ text }) => text)),
    MOST_LETTERS.tick
  );
  return { gap: Math.max(LEAST_GAP, title + 12, tick + 20), side: Math.max(SIDE, title / 2 + 4, tick + 12) };
}

function ramp(): string {
  return `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(rampColor).join(', ')})`;
}

interface AxisProps {
  readonly axis: ValueAxis;
  readonly title: string;
  readonly filter: Filter | undefined;
  readonly set: (filter: Filter | null) => void;
}

function Axis(props: AxisProps & { x: number; top: (part: number) => number; last: boolean }): ReactNode {
  const { axis, x, top, title, last, filter, set } = props;
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const start = useRef(0);
  const part = (event: PointerEvent<SVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return 1 - (event.clientY - box.top) / box.height;
  };
  const brush = drag ?? brushOf(axis, filter);
  return (
    <g>
      <text x={x} y={18} textAnchor="middle" className="mosaic-axis-title">
        {shortened(title, MOST_LETTERS.title)}
        <title>{title}</title>
      </text>
      <line x1={x} x2={x} y1={top(0)} y2={top(1)} className="mosaic-axis" />
      {ticksOf(axis, TICKS).map(({ place, text }) => (
        <text
          key={text}
          x={last ? x + 8 : x - 8}
          y={top(place) + 4}
          textAnchor={last ? 'start' : 'end'}
          style={{ pointerEvents: 'none' }}
        >
          {shortened(text, MOST_LETTERS.tick)}
        </text>
      ))}
      {brush && (
        <rect
          className="mosaic-brush"
          x={x - 6}
          width={12}
          y={top(Math.max(...brush))}
          height={Math.max(2, Math.abs(top(brush[0]) - top(brush[1])))}
        />
      )}
      <rect
        className="mosaic-brush-area"
        x={x - BRUSH_PX / 2}
        width={BRUSH_PX}
        y={top(1)}
        height={top(0) - top(1)}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = part(event);
          setDrag([start.current, start.current]);
        }}
        onPointerMove={event => drag && setDrag([start.current, part(event)])}
        onPointerUp={event => {
          if (!drag) return;
          const end = part(event);
          setDrag(null);
          set(Math.abs(end - start.current) < CLICK ? null : brushed(axis, start.current, end));
        }}
        onPointerCancel={() => setDrag(null)}
      />
    </g>
  );
}

/** The same filter as the brush, typed or ticked. */
function AxisLimits({ axis, title, filter, trans, set }: AxisProps & { trans: Translation }): ReactNode {
  if (!axis.texts) {
    const limits = filter && 'low' in filter ? ([filter.low, filter.high] as const) : ([null, null] as const);
    return (
      <div className="mosaic-field">
        <span>{title}</span>
        <TypedRange
          limits={limits}
          name={trans.__('Filter by %1', title)}
          from={trans.__('from')}
          to={trans.__('to')}
          onChange={([low, high]) => set(low === null && high === null ? null : { low, high })}
        />
      </div>
    );
  }
  const { texts } = axis;
  const chosen = filter && 'values' in filter ? filter.values : texts;
  const toggle = (text: string) => {
    const values = chosen.includes(text) ? chosen.filter(other => other !== text) : [...chosen, text];
    set(values.length === texts.length ? null : { values });
  };
  if (texts.length > 8) return null;
  return (
    <fieldset className="mosaic-field">
      <legend className="mosaic-unseen">{trans.__('Filter by %1', title)}</legend>
      <span aria-hidden="true">{title}</span>
      {texts.map(text => (
        <label key={text} className="mosaic-field">
          <input type="checkbox" checked={chosen.includes(text)} onChange={() => toggle(text)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
