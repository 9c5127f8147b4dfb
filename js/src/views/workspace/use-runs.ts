/** The runs of a workspace as React state, updated from their store. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RunRow } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { color, paletteIndices } from '../charts/palette.ts';
import { resumedTitles } from '../runs/tree.ts';
import { useSame } from '../use-answer.ts';
import { groupNumbers, type Results } from './settings.ts';
import { WITHOUT_CURVES, type WorkspaceState } from './state.ts';

const PACE_MS = 1000;
const RESULTS_AT_ONCE = 50;
const RESULTS_PACE_MS = 5000;

type Grown = (runs: readonly string[]) => void;

export interface Runs {
  readonly rows: ReadonlyMap<string, RunRow>;
  /** The titles of resumed runs by id; see `resumedTitles`. */
  readonly titles: ReadonlyMap<string, string>;
  /** The place of each run with curves in the store, the oldest first. */
  readonly places: ReadonlyMap<string, number>;
  /** Whether the store has answered. */
  readonly known: boolean;
  /** Call a function, at most once a second, with runs that have more points; returns how to end it. */
  readonly onGrown: (listener: Grown) => () => void;
}

/** Follow these runs, with a new map after each change. */
export function useRuns(source: RunSource, runs: readonly string[]): Runs {
  const [state, setState] = useState<Omit<Runs, 'onGrown'>>({
    rows: new Map(),
    titles: new Map(),
    places: new Map(),
    known: false
  });
  const listeners = useRef(new Set<Grown>());
  const requested = useRef(new Set<string>());
  const all = useRef(new Map<string, RunRow>());
  requested.current = new Set(runs);

  useEffect(() => {
    setState(before => ({ ...before, rows: chosen(all.current, requested.current) }));
  }, [runs.join()]);

  useEffect(() => {
    const grown = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    all.current.clear();
    const tell = () => {
      timer = undefined;
      const changed = [...grown];
      grown.clear();
      const entries = [...all.current.values()].map(row => ({ key: row.id, store: source.store, row }));
      const titles = resumedTitles(entries);
      const places = placesOf(all.current.values());
      setState({ rows: chosen(all.current, requested.current), titles, places, known: true });
      if (changed.length) for (const listener of listeners.current) listener(changed);
    };
    const end = source.subscribe(({ rows, removed }) => {
      const first = all.current.size === 0;
      let touched = removed.some(id => requested.current.has(id));
      for (const id of removed) all.current.delete(id);
      for (const row of rows) {
        const before = all.current.get(row.id);
        all.current.set(row.id, row);
        touched ||= !before; // such as the older runs of a large store, which change the places of the newest
        if (!requested.current.has(row.id)) continue;
        touched = true;
        if (before && (before.step !== row.step || before.alive || row.alive)) grown.add(row.id);
      }
      if (first) tell();
      else if (touched) timer ??= setTimeout(tell, PACE_MS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [source]);

  const onGrown = useCallback((listener: Grown) => {
    listeners.current.add(listener);
    return () => listeners.current.delete(listener);
  }, []);
  return { ...state, onGrown };
}

/** The last values of these runs' metrics, requested in parts; empty while `wanted` is false. */
export function useResults(source: RunSource, runs: Runs, ids: readonly string[], enabled: boolean): Results {
  const [results, setResults] = useState<Results>({});
  const outdated = useRef(new Set<string>());
  const key = ids.join();
  useEffect(
    () =>
      runs.onGrown(grown => {
        for (const id of grown) outdated.current.add(id);
      }),
    [runs.onGrown]
  );
  useEffect(() => {
    if (!enabled) return;
    let ended = false;
    const load = async (missing: readonly string[]) => {
      for (let i = 0; i < missing.length && !ended; i += RESULTS_AT_ONCE) {
        try {
          const part = missing.slice(i, i + RESULTS_AT_ONCE);
          const { result } = await source.call('details', { runs: part });
          if (ended) return;
          const entries = Object.entries(result.runs).map(([id, details]) => [id, details.results]);
          setResults(before => ({ ...before, ...Object.fromEntries(entries) }));
        } catch (reason) {
          console.debug('MOSAIC: no results of runs:', reason);
          return;
        }
      }
    };
    void load(ids.filter(id => results[id] === undefined));
    const timer = setInterval(() => {
      const grown = ids.filter(id => outdated.current.has(id));
      outdated.current.clear();
      if (grown.length && !document.hidden) void load(grown);
    }, RESULTS_PACE_MS);
    return () => {
      ended = true;
      clearInterval(timer);
    };
  }, [source, key, enabled]);
  return results;
}

function chosen(
  all: ReadonlyMap<string, RunRow>,
  requested: ReadonlySet<string>
): ReadonlyMap<string, RunRow> {
  const rows = new Map<string, RunRow>();
  for (const id of requested) {
    const row = all.get(id);
    if (row) rows.set(id, row);
  }
  return rows;
}

function placesOf(rows: Iterable<RunRow>): ReadonlyMap<string, number> {
  const ids = [...rows].filter(({ kind }) => !WITHOUT_CURVES.has(kind)).map(({ id }) => id);
  return new Map(ids.sort().map((id, index) => [id, index]));
}

/** The palette indices of a workspace's runs: those last shown until the store has answered. */
export function usePaletteIndices(runs: Runs, state: WorkspaceState): WorkspaceState['colors'] {
  const now = useMemo(
    () => (runs.known ? paletteIndices(state.runs, runs.places) : state.colors),
    [runs.known, runs.places, state.runs, state.colors]
  );
  return useSame(now, JSON.stringify(now));
}

/** The colour of each run: its own, or its group's. */
export function useColors(
  rows: readonly RunRow[],
  colors: WorkspaceState['colors'],
  groupBy: WorkspaceState['groupBy']
): (run: string) => string {
  const grouped = groupBy ? rows : null;
  return useMemo(() => {
    if (!groupBy || !grouped) return run => color(colors[run] ?? 0);
    const numbers = groupNumbers(grouped, groupBy);
    return run => color(numbers.get(run) ?? 0);
  }, [groupBy, colors, grouped]);
}
