/** The rows of a run store at a moment, for parts of the page that do not follow them. */

import type { RunRow } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';

const PATIENCE_MS = 10_000;

/** All rows of a store, the latest first; none if the store does not answer in time. */
export function latestRows(source: RunSource): Promise<readonly RunRow[]> {
  return new Promise(resolve => {
    let end = () => {};
    const finish = (rows: readonly RunRow[]) => {
      clearTimeout(timer);
      end();
      resolve(rows);
    };
    const timer = setTimeout(() => finish([]), PATIENCE_MS);
    end = source.subscribe(({ rows }) => {
      finish(rows.toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0)));
    });
  });
}
