/** The colours of a workspace's runs. */

import { useMemo } from 'react';
import type { RunRow } from '../../shared/run-api.ts';
import { color } from '../charts/palette.ts';
import { groupNumbers } from './settings.ts';
import type { WorkspaceState } from './state.ts';

/** The colour of each run: its own, or its group's. */
export function useColors(rows: readonly RunRow[], state: WorkspaceState): (run: string) => string {
  const { groupBy, colors } = state;
  const grouped = groupBy ? rows : null;
  return useMemo(() => {
    if (!groupBy || !grouped) return run => color(colors[run] ?? 0);
    const numbers = groupNumbers(grouped, groupBy);
    return run => color(numbers.get(run) ?? 0);
  }, [groupBy, colors, grouped]);
}
