/** A chart with its head, the values under the pointer, and a cursor controlled by keys. */

import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import { fineNumber } from '../../shared/numbers.ts';
import { RunName } from '../runs/run-name.tsx';
import { trans } from '../translation.ts';
import { type ChartView, type Cursor, LineChart } from './line-chart.ts';
import { type ChartLine, lineRun } from './lines.ts';
import { marksOf } from './marks.ts';
import { intervalAt, type Near } from './nearest.ts';
import type { Range } from './ranges.ts';
import { placeText } from './ticks.ts';

/** The cursor shared by the charts of a workspace. */
export class CursorLink {
  private readonly charts = new Set<LineChart>();

  join(chart: LineChart): () => void {
    this.charts.add(chart);
    return () => this.charts.delete(chart);
  }

  move(from: LineChart, x: number | null): void {
    for (const chart of this.charts) if (chart !== from) chart.link(x);
  }

  emphasize(key: string | null): void {
    for (const chart of this.charts) chart.emphasize(key);
  }
}

interface ChartCardProps {
  readonly title: string;
  readonly xLabel: string;
  readonly lines: readonly ChartLine[];
  readonly view: ChartView;
  readonly height: number;
  readonly link: CursorLink;
  /** The kind of the values: raw, smoothed, a mean. */
  readonly kind: string;
  /** Shown in place of lines: why there are none. */
  readonly message: string;
  readonly onZoom: (range: Range | null) => void;
  /** Called with a clicked point, whose film is shown. */
  readonly onPick?: (point: Near) => void;
  /** Called with whether the chart is visible. */
  readonly onVisible?: (visible: boolean) => void;
  readonly onWidth?: (width: number) => void;
}

const KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'Enter', 'Escape'];

export function ChartBody(props: ChartCardProps): ReactNode {
  const { title, lines, view, height, message } = props;
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<LineChart | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const help = useId();

  useLayoutEffect(() => {
    const el = container.current;
    if (!el) return;
    const lineChart = new LineChart(el, {
      cursor: moved => {
        setCursor(moved);
        latest.current.link.move(lineChart, moved?.x ?? null);
      },
      zoom: range => latest.current.onZoom(range),
      pick: point => latest.current.onPick?.(point)
    });
    chart.current = lineChart;
    const leave = latest.current.link.join(lineChart);
    const sight = new IntersectionObserver(entries =>
      latest.current.onVisible?.(entries.some(entry => entry.isIntersecting))
    );
    sight.observe(el);
    const width = new ResizeObserver(() => el.clientWidth > 0 && latest.current.onWidth?.(el.clientWidth));
    width.observe(el);
    return () => {
      leave();
      sight.disconnect();
      width.disconnect();
      lineChart.destroy();
      chart.current = null;
    };
  }, []);

  const marks = useMemo(() => marksOf(lines), [lines]);
  useEffect(() => chart.current?.show(lines, marks, view), [lines, marks, view]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (!KEYS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (chart.current?.moveByKey(event.key)) event.preventDefault();
  };
  return (
    <div className="mosaic-chart-body" style={{ height }}>
      <div
        ref={container}
        className="mosaic-chart-plot"
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the cursor
        tabIndex={0}
        aria-label={trans.__('Chart of %1', title)}
        aria-describedby={help}
        onKeyDown={onKeyDown}
        onBlur={() => chart.current?.leave()}
        data-lm-suppress-shortcuts="true"
      />
      <span id={help} className="mosaic-unseen">
        {trans._n('%1 line.', '%1 lines.', lines.length)}{' '}
        {trans.__('Arrow keys move the cursor and choose a line.')}{' '}
        {props.onPick && trans.__('Enter shows the film of that moment.')}{' '}
        {marks.length > 0 &&
          trans.__(
            'Stages begin here: %1.',
            marks.map(({ x, label }) => `${label} (${placeText(x, view.axis)})`).join(', ')
          )}
      </span>
      {message && <p className="mosaic-chart-message">{message}</p>}
      {cursor && <Values cursor={cursor} view={view} xLabel={props.xLabel} kind={props.kind} />}
      <span className="mosaic-unseen" aria-live="polite">
        {cursor && !cursor.pointer ? spoken(cursor, view) : ''}
      </span>
    </div>
  );
}

interface ValuesProps {
  readonly cursor: Cursor;
  readonly view: ChartView;
  readonly xLabel: string;
  readonly kind: string;
}

/** The values at the cursor, to its right, or to its left in the right half. */
function Values({ cursor, view, xLabel, kind }: ValuesProps): ReactNode {
  const { points, nearest, more } = cursor.readout;
  const box = useRef<HTMLDivElement>(null);
  const [style, setStyle] = useState<CSSProperties>({ visibility: 'hidden' });
  useLayoutEffect(() => {
    const el = box.current;
    const area = el?.parentElement;
    if (!el || !area) return;
    const { left, top } = cursor.pointer ?? { left: 60, top: 4 };
    const rightEdge = (area.closest('.mosaic-workspace-views') ?? area).getBoundingClientRect().right;
    const right = area.getBoundingClientRect().left + left + 16 + el.offsetWidth <= rightEdge;
    const x = right ? left + 16 : Math.max(0, left - 16 - el.offsetWidth);
    const y = Math.max(
      0,
      Math.min(top - el.offsetHeight / 2, Math.max(0, area.clientHeight - el.offsetHeight))
    );
    setStyle({ transform: `translate(${Math.round(x)}px, ${Math.round(y)}px)` });
  }, [cursor]);
  if (points.length === 0) return null;
  return (
    <div ref={box} className="mosaic-values" style={style} aria-hidden="true">
      <div className="mosaic-values-place">
        {xLabel} {placeText(nearest?.x ?? cursor.x, view.axis)} · {kind}
      </div>
      {points.map(point => (
        <div key={point.line.data.key} className={point === nearest ? 'mosaic-values-nearest' : ''}>
          <i style={{ background: point.line.color }} />
          {lineRun(point.line.data) === null ? (
            <span className="mosaic-values-group">{point.line.label}</span>
          ) : (
            <span>
              <RunName name={point.line.label} />
            </span>
          )}
          <b>{fineNumber(point.y)}</b>
          <small>{intervalText(point)}</small>
        </div>
      ))}
      {points.some(({ line: { data } }) => data.runs.length > 1 && !data.low) && (
        <div className="mosaic-values-more">{trans.__('no interval: fewer than five runs')}</div>
      )}
      {more > 0 && <div className="mosaic-values-more">{trans.__('and %1 more', more)}</div>}
    </div>
  );
}

function intervalText(point: Near): string {
  return intervalAt(point)?.map(fineNumber).join(' – ') ?? '';
}

function spoken({ x, readout }: Cursor, view: ChartView): string {
  const { nearest, points, more } = readout;
  if (!nearest) return trans.__('%1: no values', placeText(x, view.axis));
  const rank = points.indexOf(nearest) + 1;
  const value = [fineNumber(nearest.y), intervalText(nearest)].filter(Boolean).join(', ');
  const text = `${nearest.line.label}: ${value}, ${placeText(nearest.x, view.axis)}`;
  return more > 0 ? text : trans.__('%1, %2 of %3', text, rank, points.length);
}
