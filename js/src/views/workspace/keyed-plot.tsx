/** A plot of runs with keyboard navigation: the current run is shown in a box of values, and read aloud. */

import type { KeyboardEvent, ReactNode, RefCallback } from 'react';

export interface KeyedPlotProps {
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
