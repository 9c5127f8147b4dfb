/** An axis of the parallel coordinates with its brush, and the same filter as text fields. */

import { type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { shortened } from '../../shared/names.ts';
import { Check } from '../controls.tsx';
import { trans } from '../translation.ts';
import { TypedRange } from '../typed-range.tsx';
import { brushed, brushOf, ticksOf, type ValueAxis } from './axes.ts';
import { MAX_CHARS, pixels } from './parallel-layout.ts';
import type { Filter } from './settings.ts';

export const TICKS = 8;
const CLICK = 0.01;
const BRUSH_PX = 26;

interface AxisProps {
  readonly axis: ValueAxis;
  readonly title: string;
  readonly filter: Filter | undefined;
  readonly set: (filter: Filter | null) => void;
}

export function Axis(
  props: AxisProps & { x: number; top: (part: number) => number; last: boolean }
): ReactNode {
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
        {shortened(title, MAX_CHARS.title)}
        <title>{title}</title>
      </text>
      <line x1={x} x2={x} y1={top(0)} y2={top(1)} className="mosaic-axis" />
      {ticksOf(axis, TICKS).map(({ place, text }) => (
        <g key={text} style={{ pointerEvents: 'none' }}>
          <rect
            className="mosaic-axis-back"
            x={last ? x + 5 : x - 11 - pixels(text, MAX_CHARS.tick)}
            width={pixels(text, MAX_CHARS.tick) + 6}
            y={top(place) - 7}
            height={14}
          />
          <text x={last ? x + 8 : x - 8} y={top(place) + 4} textAnchor={last ? 'start' : 'end'}>
            {shortened(text, MAX_CHARS.tick)}
          </text>
        </g>
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

/** The filter of the brush as typed limits or check boxes. */
export function AxisLimits({ axis, title, filter, set }: AxisProps): ReactNode {
  if (!axis.texts) {
    const limits = filter && 'low' in filter ? ([filter.low, filter.high] as const) : ([null, null] as const);
    return (
      <div className="mosaic-field">
        <span>{title}</span>
        <TypedRange
          limits={limits}
          name={trans.__('Filter by %1', title)}
          hints={[trans.__('from'), trans.__('to')]}
          scale={null}
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
        <Check
          key={text}
          className="mosaic-field"
          checked={chosen.includes(text)}
          change={() => toggle(text)}
        >
          {text}
        </Check>
      ))}
    </fieldset>
  );
}
