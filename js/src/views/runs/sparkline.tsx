/** A run's returns as a small line. */

import { sparklinePath } from './sparkline-path.ts';

export function Sparkline({
  values,
  width,
  height
}: {
  values: readonly number[];
  width: number;
  height: number;
}) {
  if (values.length < 2) {
    return null;
  }
  return (
    <svg className="mosaic-runs-sparkline" width={width} height={height} aria-hidden="true">
      <path d={sparklinePath(values, width, height)} />
    </svg>
  );
}
