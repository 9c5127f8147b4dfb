/** The parts that parallel coordinates and the scatter plot have in common. */

import type { CSSProperties, KeyboardEvent, ReactNode, RefCallback } from 'react';
import type { RunRow } from '../../shared/run-api.ts';
import { RunName } from '../runs/run-name.tsx';
import { trans } from '../translation.ts';
import { resultTitle } from './run-table.tsx';
import type { Results } from './settings.ts';
import type { WorkspaceState } from './state.ts';

interface KeyedPlotProps {
  /** Measures the plot (`useSize`). */
  readonly place: RefCallback<HTMLElement>;
  readonly height: number;
  readonly label: string;
  /** The keys to the previous and the next run. */
  readonly keys: readonly [string, string];
  /** The ids of the runs, in the order of keyboard navigation. */
  readonly runs: readonly string[];
  readonly current: string | undefined;
  readonly choose: (run: string | null) => void;
  /** The current run and its values in a sentence. */
  readonly spoken: string;
  readonly children: ReactNode;
}

/** A plot of runs with keyboard navigation: the current run is shown in a box of values, and read aloud. */
export function KeyedPlot(props: KeyedPlotProps): ReactNode {
  const { place, height, label, keys, runs, current, choose, spoken, children } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { [keys[0]]: -1, [keys[1]]: 1 }[event.key];
    if (by === undefined || runs.length === 0) return;
    event.preventDefault();
    const at = current === undefined ? 0 : runs.indexOf(current) + by;
    choose(runs[Math.max(0, Math.min(runs.length - 1, at))] ?? null);
  };
  return (
    <div
      ref={place}
      className="mosaic-axes-plot"
      style={{ minHeight: height }}
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go through the runs
      tabIndex={0}
      aria-label={label}
      onKeyDown={onKeyDown}
      data-lm-suppress-shortcuts="true"
    >
      {children}
      <span className="mosaic-unseen" aria-live="polite">
        {spoken}
      </span>
    </div>
  );
}

/** The contents of the plots of a workspace, and the change of its state. */
export interface PlotProps {
  readonly rows: readonly RunRow[];
  readonly names: ReadonlyMap<string, string>;
  readonly resultNames: readonly string[];
  readonly results: Results;
  readonly state: WorkspaceState;
  readonly colorOf: (run: string) => string;
  readonly change: (change: Partial<WorkspaceState>) => void;
}

/** The selection of a plot's result. */
export function ResultChoice({ resultNames, state, change }: PlotProps): ReactNode {
  return (
    <label className="mosaic-field">
      <span>{trans.__('Result')}</span>
      <select
        className="mosaic-input"
        value={state.result}
        onChange={event => change({ result: event.target.value })}
      >
        {[...new Set([state.result, ...resultNames])].map(name => (
          <option key={name} value={name}>
            {resultTitle(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A box with the name of a run and values with their titles. */
export function RunValues(props: {
  readonly name: string;
  readonly color: string;
  readonly values: readonly (readonly [title: string, value: string])[];
  readonly style: CSSProperties;
}): ReactNode {
  return (
    <div className="mosaic-values" style={props.style}>
      <div className="mosaic-values-nearest">
        <i style={{ background: props.color }} />
        <span>
          <RunName name={props.name} />
        </span>
      </div>
      {props.values.map(([title, value]) => (
        <div key={title}>
          <span>{title}</span>
          <b>{value}</b>
        </div>
      ))}
    </div>
  );
}
