/** The runs to which an action applies. */

import type { RunRow } from '../../shared/run-api.ts';
import { type RunSource, runKey } from '../../shared/run-source.ts';
import type { RunTable } from './run-table.ts';

export interface Target {
  readonly source: RunSource;
  readonly id: string;
  /** Null if the table does not follow the run's store. */
  readonly row: RunRow | null;
}

/** The selected runs of a table. */
export function selectedTargets(table: RunTable): Target[] {
  const sources = new Map(table.sources.map(source => [source.store, source]));
  return table.selected.flatMap(({ store, row }) => {
    const source = sources.get(store);
    return source ? [{ source, id: row.id, row }] : [];
  });
}

/** The targets by store. */
export function bySource(targets: readonly Target[]): Map<RunSource, string[]> {
  const idsOf = new Map<RunSource, string[]>();
  for (const { source, id } of targets) idsOf.set(source, [...(idsOf.get(source) ?? []), id]);
  return idsOf;
}

/** Number of runs that belong to sweeps and curricula among the targets, and are not targets themselves. */
export function trialsOf(targets: readonly Target[], table: RunTable): number {
  const keys = new Set(targets.map(({ source, id }) => runKey(source.store, id)));
  return table.entries.filter(
    ({ key, store, row }) =>
      row.kind === 'training' && row.parent !== null && keys.has(runKey(store, row.parent)) && !keys.has(key)
  ).length;
}

/** Number of remaining runs that continue from a checkpoint of the targets. */
export function continuationsOf(targets: readonly Target[], table: RunTable): number {
  const keys = new Set(targets.map(({ source, id }) => runKey(source.store, id)));
  const isTarget = (store: string, id: string | null) => id !== null && keys.has(runKey(store, id));
  return table.entries.filter(
    ({ key, store, row }) => isTarget(store, row.continues) && !keys.has(key) && !isTarget(store, row.parent)
  ).length;
}

export function nameOf({ row, id }: Target): string {
  return row?.name || id;
}

/** The runs to which a command applies: those in its arguments, otherwise the selected ones. */
export function targetsOf(
  args: { readonly store?: unknown; readonly runs?: unknown },
  table: RunTable,
  sourceOf: (store: string) => RunSource
): Target[] {
  const { store, runs } = args;
  if (typeof store !== 'string') return selectedTargets(table);
  const source = sourceOf(store);
  const ids = Array.isArray(runs) ? runs.map(String) : [];
  return ids.map(id => ({ source, id, row: source.runs?.get(id)?.row ?? null }));
}
