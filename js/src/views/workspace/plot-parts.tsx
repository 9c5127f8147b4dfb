/** The parts that parallel coordinates and the scatter plot have in common. */

import type { CSSProperties, KeyboardEvent, ReactNode, RefCallback } from 'react';
import { Field, Select } from '../controls.tsx';
import { RunName } from '../runs/run-name.tsx';
import { trans } from '../translation.ts';
import type { Contents } from './contents.ts';
import { resultTitle } from './run-table.tsx';
import { ROW_RESULTS } from './settings.ts';

/** The run whose values are shown, in a box placed by `style`. */
interface CurrentRun {
  readonly id: string;
  readonly name: string;
  readonly color: string;
  readonly values: readonly (readonly [title: string, value: string])[];
  readonly style: CSSProperties;
}

interface KeyedPlotProps {
  /** Measures the plot (`useSize`). */
  readonly place: RefCallback<HTMLElement>;
  readonly height: number;
  readonly label: string;
  /** The keys to the previous and the next run. */
  readonly keys: readonly [string, string];
  /** The ids of the runs, in the order of keyboard navigation. */
  readonly runs: readonly string[];
  readonly current: CurrentRun | undefined;
  readonly choose: (run: string | null) => void;
  readonly children: ReactNode;
}

/** A plot of runs with keyboard navigation: the current run is shown in a box of values, and read aloud. */
export function KeyedPlot(props: KeyedPlotProps): ReactNode {
  const { place, height, label, keys, runs, current, choose, children } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { [keys[0]]: -1, [keys[1]]: 1 }[event.key];
    if (by === undefined || runs.length === 0) return;
    event.preventDefault();
    const index = current ? runs.indexOf(current.id) + by : 0;
    choose(runs[Math.max(0, Math.min(runs.length - 1, index))] ?? null);
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
      {current && <RunValues {...current} />}
      <span className="mosaic-unseen" aria-live="polite">
        {current && `${current.name}: ${current.values.map(value => value.join(' ')).join(', ')}`}
      </span>
    </div>
  );
}

/** The selection of a plot's result. */
export function ResultChoice({ metrics, state, change }: Contents): ReactNode {
  return (
    <Field name={trans.__('Result')}>
      <Select
        value={state.result}
        options={[...new Set([state.result, ...Object.keys(ROW_RESULTS), ...metrics])].map(name => [
          name,
          resultTitle(name)
        ])}
        choose={result => change({ result })}
      />
    </Field>
  );
}

function RunValues({ name, color, values, style }: CurrentRun): ReactNode {
  return (
    <div className="mosaic-values" style={style}>
      <div className="mosaic-values-nearest">
        <i style={{ background: color }} />
        <span>
          <RunName name={name} />
        </span>
      </div>
      {values.map(([title, value]) => (
        <div key={title}>
          <span>{title}</span>
          <b>{value}</b>
        </div>
      ))}
    </div>
  );
}
