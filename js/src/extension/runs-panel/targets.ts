/** The runs to which a command applies: those in its arguments, otherwise the panel's selection. */

import type { RunTable } from '../../views/runs/run-table.ts';
import { selectedTargets, type Target } from '../../views/runs/targets.ts';
import type { IRunSources } from '../tokens.ts';

/** Arguments of all commands for runs. */
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
