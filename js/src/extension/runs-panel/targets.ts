/** The runs that a command is about: those named in its arguments, else those selected in the panel. */

import type { RunTable } from '../../views/runs/run-table.ts';
import { selectedTargets, type Target } from '../../views/runs/targets.ts';
import type { IRunSources } from '../tokens.ts';

/** Arguments of all commands that are about runs. */
export interface TargetArgs {
  readonly store?: unknown;
  readonly runs?: unknown;
  readonly run?: unknown;
}

export function targetsOf(args: TargetArgs, table: RunTable, sources: IRunSources): Target[] {
  const { store } = args;
  if (typeof store !== 'string') {
    return selectedTargets(table);
  }
  const source = sources.source(store);
  const ids = Array.isArray(args.runs)
    ? args.runs.map(String)
    : args.run === undefined
      ? []
      : [String(args.run)];
  return ids.map(id => ({ source, id, row: table.rows.get(store, id)?.row ?? null }));
}
