/** The names of x axes. */

import type { Axis } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

/** As titles, in the order of the selection. */
export function axisTitles(): Readonly<Record<Axis, string>> {
  return {
    step: trans.__('Steps'),
    episode: trans.__('Episodes'),
    relative: trans.__('Relative time'),
    time: trans.__('Wall time')
  };
}

/** A prefix for a position on the axis: "step 1,000", "after 2 min". */
export function axisLabel(axis: Axis): string {
  return {
    step: trans.__('step'),
    episode: trans.__('episode'),
    time: trans.__('time'),
    relative: trans.__('after')
  }[axis];
}
