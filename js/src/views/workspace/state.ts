/** The state of a workspace as one JSON object, and its updates. Nothing here changes a state in place. */

import type { Axis, RunKind, RunRow, Selection } from '../../shared/run-api.ts';
import type { Limits } from '../charts/ranges.ts';
import type { Filters } from './settings.ts';

export interface ChartState {
  readonly id: string;
  readonly metric: string;
  /** Number of columns of the grid that it spans. */
  readonly span: number;
  /** In pixels. */
  readonly height: number;
  readonly yLog: boolean;
  readonly yLimits: Limits;
}

export type ViewName = 'charts' | 'parallel' | 'scatter' | 'difference' | 'transcript';

export interface WorkspaceState {
  readonly version: 1;
  readonly runs: readonly string[];
  readonly hidden: readonly string[];
  /** Palette indices by run, as last shown; see `paletteIndices`. */
  readonly colors: Readonly<Record<string, number>>;
  readonly view: ViewName;
  /** null: the default charts, as soon as the metrics are known. */
  readonly charts: readonly ChartState[] | null;
  readonly x: Axis;
  readonly xLog: boolean;
  readonly xLimits: Limits;
  readonly smoothing: number;
  readonly outliers: boolean;
  /** The settings shared by the runs of a group; none: one group of all runs; null: no groups. */
  readonly groupBy: readonly string[] | null;
  readonly filters: Filters;
  /** The column by which the table is sorted. */
  readonly sort: { readonly column: string; readonly descending: boolean } | null;
  /** The axes of the parallel coordinates; null: the settings that differ. */
  readonly axes: readonly string[] | null;
  /** The result shown by the parallel coordinates and the scatter plot. */
  readonly result: string;
  readonly scatterX: string | null;
  /** The runs of the difference; null: the first two. */
  readonly pair: readonly [string, string] | null;
  /** The evaluation of the transcript, null: the first; and which of its exchanges are shown. */
  readonly transcript: { readonly run: string | null; readonly selection: Selection };
  /** In pixels; null: a fraction of the available width. */
  readonly tableWidth: number | null;
}

const MIN_HEIGHT = 140;
const MAX_HEIGHT = 900;
const MAX_SPAN = 4;
const MAX_CHARTS = 60;
const DEFAULT_CHARTS = 4;
const SYSTEM = 'system/';

const EVERYTHING: Selection = {
  operator: null,
  seed: null,
  fault: null,
  prompt: [null, null],
  answer: [null, null],
  text: ''
};

export function initialState(runs: readonly string[]): WorkspaceState {
  return {
    version: 1,
    runs,
    hidden: [],
    colors: {},
    view: 'charts',
    charts: null,
    x: 'step',
    xLog: false,
    xLimits: [null, null],
    smoothing: 0,
    outliers: false,
    groupBy: null,
    filters: {},
    sort: null,
    axes: null,
    result: 'last_return',
    scatterX: null,
    pair: null,
    transcript: { run: null, selection: EVERYTHING },
    tableWidth: null
  };
}

/** A stored state, or the initial state if the stored one is missing or of another version. */
export function restoredState(remembered: unknown, runs: readonly string[]): WorkspaceState {
  const saved = remembered as Partial<WorkspaceState> | null | undefined;
  if (saved?.version !== 1) return initialState(runs);
  return withRuns({ ...initialState(runs), ...saved, version: 1 }, runs.length ? runs : (saved.runs ?? []));
}

export const WITHOUT_CURVES: ReadonlySet<RunKind> = new Set([
  'sweep',
  'evaluation',
  'comparison',
  'films',
  'checkpoint evaluation'
]);

/**
 * The runs to chart for a selection, among all rows of their store, with a sweep replaced by its trials. Runs
 * without curves are omitted unless there are no others, comparisons always. `charted` in
 * `mosaic_lab/widgets/overview/workspace.py` does the same.
 */
export function chartedRuns(chosen: readonly string[], rows: readonly RunRow[]): readonly string[] {
  const charted = new Map<string, string[]>();
  const empty = new Set(rows.filter(({ kind }) => WITHOUT_CURVES.has(kind)).map(({ id }) => id));
  for (const { id, parent } of rows.filter(({ id }) => !empty.has(id))) {
    for (const owner of parent !== null && empty.has(parent) ? [id, parent] : [id]) {
      const before = charted.get(owner);
      if (before) before.push(id);
      else charted.set(owner, [id]);
    }
  }
  const curves = new Set(chosen.flatMap(id => charted.get(id) ?? []));
  const comparisons = new Set(rows.filter(({ kind }) => kind === 'comparison').map(({ id }) => id));
  return curves.size ? [...curves] : chosen.filter(id => !comparisons.has(id));
}

/** The same workspace with other runs. */
export function withRuns(state: WorkspaceState, runs: readonly string[]): WorkspaceState {
  return { ...state, runs };
}

export function toggleRun(state: WorkspaceState, run: string): WorkspaceState {
  const hidden = state.hidden.includes(run) ? state.hidden.filter(id => id !== run) : [...state.hidden, run];
  return { ...state, hidden };
}

/** Show only this run; a second call shows all. */
export function showOnly(state: WorkspaceState, run: string): WorkspaceState {
  const otherRuns = state.runs.filter(id => id !== run);
  const alone = !state.hidden.includes(run) && otherRuns.every(id => state.hidden.includes(id));
  return { ...state, hidden: alone ? [] : otherRuns };
}

/** Whether a metric is the worker's own rather than a system metric. */
export function isOwn(metric: string): boolean {
  return !metric.startsWith(SYSTEM);
}

/** The charts of a new workspace: the first metrics, without system metrics. */
export function defaultCharts(metrics: readonly string[]): readonly ChartState[] {
  return metrics
    .filter(isOwn)
    .slice(0, DEFAULT_CHARTS)
    .map((metric, i) => newChart(metric, String(i)));
}

export function addChart(state: WorkspaceState, metric: string): WorkspaceState {
  const charts = state.charts ?? [];
  if (charts.length >= MAX_CHARTS) return state;
  const numbers = charts.map(({ id }) => Number(id)).filter(Number.isFinite);
  return { ...state, charts: [...charts, newChart(metric, String(Math.max(-1, ...numbers) + 1))] };
}

export function removeChart(state: WorkspaceState, id: string): WorkspaceState {
  return { ...state, charts: (state.charts ?? []).filter(chart => chart.id !== id) };
}

export function changeChart(
  state: WorkspaceState,
  id: string,
  change: Partial<Omit<ChartState, 'id'>>
): WorkspaceState {
  return {
    ...state,
    charts: (state.charts ?? []).map(chart => (chart.id === id ? sized({ ...chart, ...change }) : chart))
  };
}

/** Move a chart to an index among the others, counted without it. */
export function moveChart(state: WorkspaceState, id: string, index: number): WorkspaceState {
  const charts = state.charts ?? [];
  const moved = charts.find(chart => chart.id === id);
  if (!moved) return state;
  const otherCharts = charts.filter(chart => chart !== moved);
  const to = Math.max(0, Math.min(otherCharts.length, index));
  return { ...state, charts: otherCharts.toSpliced(to, 0, moved) };
}

function newChart(metric: string, id: string): ChartState {
  return { id, metric, span: 1, height: 240, yLog: false, yLimits: [null, null] };
}

function sized(chart: ChartState): ChartState {
  const height = Math.max(MIN_HEIGHT, Math.min(MAX_HEIGHT, Math.round(chart.height)));
  const span = Math.max(1, Math.min(MAX_SPAN, Math.round(chart.span)));
  return { ...chart, height, span };
}
