/** The runs that a command is about: those named in its arguments, else those selected in the panel. */

import type { RunRow, RunSource } from '../../shared/run-api.ts';
import { runKey } from '../../views/runs/run-rows.ts';
import type { RunTable } from '../../views/runs/run-table.ts';
import type { IRunSources } from '../tokens.ts';

export interface Target {
  readonly source: RunSource;
  readonly id: string;
  /** Null where the panel does not follow the run's store. */
  readonly row: RunRow | null;
}

/** Arguments of all commands that are about runs. */
export interface TargetArgs {
  readonly store?: unknown;
  readonly runs?: unknown;
  readonly run?: unknown;
}

export function targetsOf(args: TargetArgs, table: RunTable, sources: IRunSources): Target[] {
  const { store } = args;
  const ids = Array.isArray(args.runs)
    ? args.runs.map(String)
    : args.run === undefined
      ? []
      : [String(args.run)];
  if (typeof store === 'string') {
    const source = sources.source(store);
    return ids.map(id => ({ source, id, row: table.rows.get(store, id)?.row ?? null }));
  }
  return table.selected.map(entry => ({
    source: sources.source(entry.store),
    id: entry.row.id,
    row: entry.row
  }));
}

/** The targets store by store. */
export function bySource(targets: readonly Target[]): Map<RunSource, string[]> {
  const found = new Map<RunSource, string[]>();
  for (const { source, id } of targets) {
    found.set(source, [...(found.get(source) ?? []), id]);
  }
  return found;
}

/** How many runs belong to the sweeps among the targets, and are not targets themselves. */
export function trialsOf(targets: readonly Target[], table: RunTable): number {
  const keys = new Set(targets.map(({ source, id }) => runKey(source.store, id)));
  return table.rows.entries.filter(
    ({ key, store, row }) =>
      row.kind === 'training' && row.parent !== null && keys.has(runKey(store, row.parent)) && !keys.has(key)
  ).length;
}

export function nameOf({ row, id }: Target): string {
  return row?.name || id;
}
