/**
 * The workspace: a table of the selected runs on the left; their charts, parallel coordinates, a scatter plot,
 * the difference of two or the exchanges of an evaluation on the right. Used in a JupyterLab tab and in a cell.
 */

import './workspace.css';
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import { download } from '../../shared/download.ts';
import { wordsAlike } from '../../shared/names.ts';
import type { ChartRequest } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { CursorLink } from '../charts/chart-card.tsx';
import { WordsAlike } from '../runs/run-name.tsx';
import { trans } from '../translation.ts';
import { useAnswer, useSame } from '../use-answer.ts';
import { ChartPanel } from './chart-panel.tsx';
import type { Contents } from './contents.ts';
import { DifferenceView } from './difference.tsx';
import { FilmsPart, type Moment } from './films-part.tsx';
import { ChartGrid, Splitter } from './layout.tsx';
import { ParallelCoordinates } from './parallel.tsx';
import { RunTable } from './run-table.tsx';
import { RunTranscript } from './run-transcript.tsx';
import { Scatter } from './scatter.tsx';
import { differing, distinctNames, groupingNames, passes, sorted, varying } from './settings.ts';
import { SettingsBar } from './settings-bar.tsx';
import { defaultCharts, isOwn, moveChart, type WorkspaceState } from './state.ts';
import { useColors, usePaletteIndices, useResults, useRuns } from './use-runs.ts';

/** Interval between requests while no worker has reported a metric. */
const METRICS_MS = 3000;
const TABLE_RESULTS = ['last_return', 'best_return'];

interface WorkspaceProps {
  readonly source: RunSource;
  readonly state: WorkspaceState;
  readonly onState: (change: (state: WorkspaceState) => WorkspaceState) => void;
  /** Called with the runs that are neither hidden nor filtered out. */
  readonly onVisible?: (runs: readonly string[]) => void;
}

export function Workspace({ source, state, onState, onVisible }: WorkspaceProps): ReactNode {
  const runs = useRuns(source, state.runs);
  const { latest, problem } = useAnswer(
    source,
    'metrics',
    runs.known ? { runs: state.runs } : null,
    ({ names }) => (names.some(isOwn) ? null : METRICS_MS)
  );
  const metrics = latest?.result.names;
  const rows = useMemo(() => [...runs.rows.values()], [runs.rows]);
  const settings = useMemo(() => differing(rows), [rows]);
  const grouping = useMemo(() => groupingNames(rows), [rows]);
  const charts = state.charts;
  const metricColumns = useMemo(
    () => [...new Set((charts ?? []).map(({ metric }) => metric))].slice(0, 6),
    [charts]
  );
  const needed = metricColumns.length > 0 || state.view !== 'charts' || Object.keys(state.filters).length > 0;
  const results = useResults(source, runs, state.runs, needed && runs.known);
  const change = useCallback(
    (part: Partial<WorkspaceState>) => onState(before => ({ ...before, ...part })),
    [onState]
  );
  useEffect(() => {
    if (charts === null && metrics?.some(isOwn)) change({ charts: defaultCharts(metrics) });
  }, [charts, metrics, change]);

  const filtered = useMemo(
    () => new Set(rows.filter(row => !passes(row, state.filters, results)).map(({ id }) => id)),
    [rows, state.filters, results]
  );
  const sortedRows = useMemo(() => sorted(rows, state.sort, results), [rows, state.sort, results]);
  const visibleIds = sortedRows
    .filter(({ id }) => !state.hidden.includes(id) && !filtered.has(id))
    .map(({ id }) => id);
  const visible = useSame(visibleIds, visibleIds.join());
  useEffect(() => {
    if (runs.known) onVisible?.(visible);
  }, [runs.known, visible, onVisible]);
  const distinct = useMemo(() => distinctNames(rows, runs.titles), [rows, runs.titles]);
  const names = useSame(distinct, JSON.stringify([...distinct]));
  const common = useMemo(() => wordsAlike([...names.values()]), [names]);
  const colors = usePaletteIndices(runs, state);
  useEffect(() => {
    if (colors !== state.colors) change({ colors }); // for the picture in a saved notebook
  }, [colors, state.colors, change]);
  const colorOf = useColors(rows, colors, state.groupBy);
  const link = useMemo(() => new CursorLink(), []);
  const [failure, setFailure] = useState('');
  const [moment, setMoment] = useState<Moment | null>(null);

  const save = async (format: 'png' | 'svg' | 'csv', chart: ChartRequest) => {
    try {
      const { result, buffers } = await source.call('export', { charts: [chart], format });
      if (buffers[0]) download(result.name, buffers[0], result.type);
      setFailure('');
    } catch (reason) {
      setFailure(trans.__('The chart was not saved: %1', messageOf(reason)));
    }
  };
  const contents: Contents = {
    ...{ source, state, change, onState, runs, filtered, visible, names, colorOf, results, settings, link },
    rows: sortedRows,
    metrics: metrics ?? []
  };
  const evaluations = sortedRows.filter(({ kind }) => kind === 'evaluation').map(({ id }) => id);
  const missing = state.runs.length - rows.length;
  const say = !runs.known
    ? ''
    : rows.length === 0
      ? trans.__('None of these runs is in the run store any more.')
      : missing > 0
        ? trans._n(
            '%1 run is no longer in the run store.',
            '%1 runs are no longer in the run store.',
            missing
          )
        : '';
  return (
    <WordsAlike.Provider value={common}>
      <div className="mosaic-workspace">
        <SettingsBar
          {...contents}
          grouping={grouping}
          evaluated={evaluations.length > 0}
          films={moment !== null}
          onFilms={() =>
            setMoment(moment || !visible[0] ? null : { run: visible[0], axis: state.x, x: null })
          }
        />
        {[failure, rows.length > 0 ? problem : '', say].filter(Boolean).map(text => (
          <p key={text} className="mosaic-note" role="status">
            {text}
          </p>
        ))}
        <div className="mosaic-workspace-parts">
          <div className="mosaic-workspace-table" style={{ width: state.tableWidth ?? undefined }}>
            <RunTable
              {...contents}
              shownResults={[
                ...TABLE_RESULTS,
                ...metricColumns.filter(name => !/episode_return|^return$/.test(name))
              ]}
            />
          </div>
          <Splitter width={state.tableWidth} set={tableWidth => change({ tableWidth })} />
          <div className="mosaic-workspace-views">
            {state.view === 'charts' && (
              <ChartGrid>
                {columns =>
                  (charts ?? []).map((chart, index) => ({
                    id: chart.id,
                    node: (onDrag: (dragged: boolean) => void) => (
                      <ChartPanel
                        {...contents}
                        chart={chart}
                        place={index}
                        columns={columns}
                        onPick={({ line, x }) => {
                          const [run] = line.data.runs;
                          if (run) setMoment({ run, axis: state.x, x });
                        }}
                        onExport={save}
                        onDrag={onDrag}
                      />
                    ),
                    drop: (dragged: string) => onState(before => moveChart(before, dragged, index))
                  }))
                }
              </ChartGrid>
            )}
            {state.view === 'charts' && !charts?.length && rows.length > 0 && (
              <p className="mosaic-empty">
                {metrics?.some(isOwn)
                  ? trans.__('No charts. Add one with “+ Chart”.')
                  : trans.__('These runs have no metrics yet.')}
              </p>
            )}
            {state.view === 'parallel' && (
              <ParallelCoordinates
                {...contents}
                rows={rows}
                axes={state.axes ?? varying(rows).filter(name => name !== 'group')}
              />
            )}
            {state.view === 'scatter' && (
              <Scatter {...contents} rows={rows.filter(({ id }) => visible.includes(id))} all={rows} />
            )}
            {state.view === 'transcript' && <RunTranscript {...contents} evaluations={evaluations} />}
            {state.view === 'difference' && <DifferenceView {...contents} />}
          </div>
        </div>
        {moment && state.view === 'charts' && (
          <FilmsPart {...contents} moment={moment} onMoment={setMoment} />
        )}
      </div>
    </WordsAlike.Provider>
  );
}
