/** One chart of the workspace: its lines, its head with a menu, and a corner to resize it. */

import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import { share } from '../../shared/numbers.ts';
import type { ChartRequest } from '../../shared/run-api.ts';
import { ChartBody } from '../charts/chart-card.tsx';
import type { ChartView } from '../charts/line-chart.ts';
import { type ChartLine, type LineData, lineRun } from '../charts/lines.ts';
import type { Near } from '../charts/nearest.ts';
import { emptyAxis, type Range } from '../charts/ranges.ts';
import { axisLabel, axisTitles } from '../charts/ticks.ts';
import { Tool } from '../controls.tsx';
import { Menu } from '../menu.tsx';
import { trans } from '../translation.ts';
import { TypedRange } from '../typed-range.tsx';
import { ChartData, type CurveSettings } from './chart-data.ts';
import type { Contents } from './contents.ts';
import { type ChartState, changeChart, moveChart, removeChart } from './state.ts';

const POINTS_STEP = 200;
const MIN_POINTS = 200;
const MAX_POINTS = 2000;
const KEY_STEP = 20;

interface ChartPanelProps extends Contents {
  readonly chart: ChartState;
  /** Its index among the charts. */
  readonly place: number;
  readonly columns: number;
  readonly onPick: (point: Near) => void;
  readonly onExport: (format: 'png' | 'svg' | 'csv', chart: ChartRequest) => void;
  readonly onDrag: (dragged: boolean) => void;
}

export function ChartPanel(props: ChartPanelProps): ReactNode {
  const { source, chart, state, change, onState, runs, visible, names, colorOf, link } = props;
  const [version, setVersion] = useState(0);
  const [width, setWidth] = useState(0);
  const data = useRef<ChartData | null>(null);
  const wasVisible = useRef(false);

  useEffect(() => {
    const chartData = new ChartData(source, () => setVersion(count => count + 1));
    data.current = chartData;
    chartData.setVisible(wasVisible.current);
    return () => chartData.end();
  }, [source]);
  useEffect(() => runs.onGrown(grown => data.current?.grown(grown)), [runs.onGrown]);

  const points = Math.max(MIN_POINTS, Math.min(MAX_POINTS, Math.ceil(width / POINTS_STEP) * POINTS_STEP));
  const settings = useMemo<CurveSettings>(
    () => ({
      metric: chart.metric,
      x: state.x,
      start: state.xLimits[0],
      end: state.xLimits[1],
      points,
      smoothing: state.smoothing,
      outliers: state.outliers,
      group_by: state.groupBy
    }),
    [chart.metric, state.x, state.xLimits, points, state.smoothing, state.outliers, state.groupBy]
  );
  useEffect(() => {
    if (width > 0) data.current?.want(settings, visible);
  }, [source, settings, visible, width > 0]);

  const [resized, setResized] = useState<{ height: number; span: number } | null>(null);
  const view = useMemo<ChartView>(
    () => ({
      axis: state.x,
      xTitle: axisTitles()[state.x],
      xLog: state.xLog,
      xLimits: state.xLimits,
      yLog: chart.yLog,
      yLimits: chart.yLimits
    }),
    [state.x, state.xLog, state.xLimits, chart.yLog, chart.yLimits]
  );
  const former = useRef<readonly ChartLine[]>([]);
  const lines = useMemo<readonly ChartLine[]>(() => {
    // Names and colours of groups do not match the previous lines.
    if (data.current && !data.current.isOf(state.groupBy)) return former.current;
    const visibleRuns = new Set(visible);
    const { lines: found = new Map(), raw = new Map() } = data.current ?? {};
    return [...found.values()]
      .filter((line: LineData) => line.runs.some(run => visibleRuns.has(run)))
      .map((line: LineData) => ({
        data: line,
        label: names.get(lineRun(line) ?? '') ?? line.label,
        color: colorOf(line.runs[0] ?? ''),
        raw: raw.get(line.key)
      }));
  }, [version, visible, names, colorOf, state.groupBy]);
  former.current = lines;
  const empty = useMemo(
    () =>
      emptyAxis(lines, { limits: view.xLimits, log: view.xLog }, { limits: view.yLimits, log: view.yLog }),
    [lines, view]
  );

  /** The chart as currently shown. */
  const request = (): ChartRequest => ({
    ...settings,
    runs: visible,
    log_x: state.xLog,
    log_y: chart.yLog,
    low: chart.yLimits[0],
    high: chart.yLimits[1],
    colors: Object.fromEntries(lines.map(({ data: { key }, color }) => [key, color]))
  });
  const { answered, error, notes = [], read = 1 } = data.current ?? {};
  const message =
    visible.length === 0
      ? trans.__('No run is visible.')
      : error && lines.length === 0
        ? error
        : answered && lines.length === 0
          ? notes.join('\n') || trans.__('No visible run has values of this metric here.')
          : lines.length === 0
            ? trans.__('Reading …')
            : empty === 'x'
              ? trans.__('No visible run has values in this part of the x axis: a double-click shows all.')
              : empty === 'y'
                ? trans.__('No visible run has values within the y limits.')
                : empty === 'log'
                  ? trans.__('A logarithmic axis shows no values ≤ 0, and there are no others here.')
                  : '';
  const span = Math.min(props.columns, resized?.span ?? chart.span);
  return (
    <section
      className="mosaic-chart"
      style={{ gridColumn: `span ${span}` }}
      aria-label={chart.metric}
      data-metric={chart.metric}
    >
      <header className="mosaic-chart-head">
        <Grip {...props} />
        <h3 title={chart.metric}>{chart.metric}</h3>
        {read < 1 && (
          <span
            className="mosaic-chart-note"
            title={trans.__('The files of these runs are still being read')}
          >
            {trans.__('%1% read', Math.floor(100 * read))}
          </span>
        )}
        {error && lines.length > 0 && (
          <span className="mosaic-chart-note" title={error}>
            {trans.__('not current')}
          </span>
        )}
        {notes.length > 0 && (
          <span className="mosaic-chart-note" title={notes.join('\n')}>
            {trans._n('%1 note', '%1 notes', notes.length)}
          </span>
        )}
        <Tool
          aria-pressed={chart.yLog}
          title={trans.__('Logarithmic y axis')}
          onClick={() => onState(before => changeChart(before, chart.id, { yLog: !chart.yLog }))}
        >
          {trans.__('log')}
        </Tool>
        <Menu
          label="⋯"
          name={trans.__('More of %1', chart.metric)}
          className="mosaic-menu-root mosaic-menu-right"
        >
          {close => (
            <div className="mosaic-chart-menu">
              <div className="mosaic-field">
                <span>{trans.__('y limits')}</span>
                <TypedRange
                  limits={chart.yLimits}
                  name={trans.__('y limits')}
                  hints={[trans.__('min'), trans.__('max')]}
                  scale={chart.yLog ? 'log' : 'linear'}
                  onChange={yLimits => onState(before => changeChart(before, chart.id, { yLimits }))}
                />
              </div>
              <div className="mosaic-field">
                <span>{trans.__('Save as')}</span>
                {(['png', 'svg', 'csv'] as const).map(format => (
                  <button
                    key={format}
                    type="button"
                    className="mosaic-tool"
                    onClick={() => {
                      close();
                      props.onExport(format, request());
                    }}
                  >
                    {format.toUpperCase()}
                  </button>
                ))}
              </div>
              <button
                type="button"
                className="mosaic-item"
                onClick={() => onState(before => removeChart(before, chart.id))}
              >
                {trans.__('Remove the chart')}
              </button>
            </div>
          )}
        </Menu>
      </header>
      <ChartBody
        title={chart.metric}
        xLabel={axisLabel(state.x)}
        kind={valuesKind(data.current?.drawn ?? null)}
        lines={lines}
        view={view}
        height={resized?.height ?? chart.height}
        link={link}
        message={message}
        onZoom={(range: Range | null) => change({ xLimits: range ?? [null, null] })}
        onPick={props.onPick}
        onVisible={visible => {
          wasVisible.current = visible;
          data.current?.setVisible(visible);
        }}
        onWidth={setWidth}
      />
      <Corner {...props} onResize={setResized} />
    </section>
  );
}

/** The kind of the values of lines with these settings. */
function valuesKind(drawn: CurveSettings | null): string {
  const kinds = [
    drawn?.group_by ? trans.__('mean') : '',
    drawn?.smoothing ? trans.__('smoothed %1', share(drawn.smoothing)) : ''
  ].filter(Boolean);
  return kinds.join(', ') || trans.__('raw');
}

/** A handle to move a chart by dragging or with arrow keys. */
function Grip({ chart, place, onState, onDrag }: ChartPanelProps): ReactNode {
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onState(before => moveChart(before, chart.id, place + by));
  };
  return (
    <button
      type="button"
      className="mosaic-grip"
      draggable
      aria-label={trans.__('Move the chart %1: arrow keys', chart.metric)}
      title={trans.__('Drag to move the chart, or use the arrow keys')}
      onKeyDown={onKeyDown}
      onDragStart={event => {
        event.dataTransfer.effectAllowed = 'move';
        event.dataTransfer.setData('text/plain', chart.metric);
        onDrag(true);
      }}
      onDragEnd={() => onDrag(false)}
      data-lm-suppress-shortcuts="true"
    >
      ⠿
    </button>
  );
}

/** A corner to resize a chart by dragging or with arrow keys. */
function Corner(
  props: ChartPanelProps & { onResize: (size: { height: number; span: number } | null) => void }
): ReactNode {
  const { chart, columns, onState, onResize } = props;
  const resize = (size: { height?: number; span?: number }) =>
    onState(before => changeChart(before, chart.id, size));
  const start = useRef<{ x: number; y: number; width: number } | null>(null);
  const size = (event: PointerEvent) => {
    const { x, y, width } = start.current ?? { x: 0, y: 0, width: 1 };
    const span = Math.min(columns, chart.span);
    const wide = Math.max(1, Math.min(columns, Math.round((span * (width + event.clientX - x)) / width)));
    return { height: Math.max(140, chart.height + event.clientY - y), span: wide };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const change = {
      ArrowLeft: { span: Math.min(columns, chart.span) - 1 },
      ArrowRight: { span: Math.min(columns, chart.span + 1) },
      ArrowUp: { height: chart.height - KEY_STEP },
      ArrowDown: { height: chart.height + KEY_STEP }
    }[event.key];
    if (!change) return;
    event.preventDefault();
    resize(change);
  };
  return (
    <button
      type="button"
      className="mosaic-corner"
      aria-label={trans.__('Resize the chart %1: arrow keys', chart.metric)}
      title={trans.__('Drag to resize the chart, or use the arrow keys')}
      onKeyDown={onKeyDown}
      onPointerDown={event => {
        const section = event.currentTarget.closest('section');
        start.current = { x: event.clientX, y: event.clientY, width: section?.offsetWidth ?? 1 };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={event => start.current && onResize(size(event))}
      onPointerUp={event => {
        if (start.current) resize(size(event));
        start.current = null;
        onResize(null);
      }}
      onPointerCancel={() => {
        start.current = null;
        onResize(null);
      }}
      data-lm-suppress-shortcuts="true"
    />
  );
}
