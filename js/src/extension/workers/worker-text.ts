/** The texts about each worker in the list. */

import type { WorkerRow } from '../../shared/run-api.ts';
import { trans } from '../../views/translation.ts';

const ORDER = ['broken', 'outdated', 'installed', 'not installed'];

/** Workers that need attention first, then installed workers; each group by name. */
export function sorted(rows: readonly WorkerRow[]): WorkerRow[] {
  const rank = (row: WorkerRow) => ORDER.indexOf(row.state);
  return [...rows].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

export function stateText(row: WorkerRow): string {
  return {
    installed: trans.__('installed'),
    outdated: trans.__('outdated'),
    broken: trans.__('broken'),
    'not installed': trans.__('available')
  }[row.state];
}

/** "cleanrl 0.4.8", or a description if the worker wraps no library. */
export function versionText(row: WorkerRow): string {
  return row.upstream || row.version;
}

export function sizeText(bytes: number): string {
  if (bytes === 0) return '';
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}

export function checkText(row: WorkerRow): string {
  if (row.checked === null) return row.state === 'not installed' ? '' : trans.__('not checked');
  const failed = Object.keys(row.failed).length;
  const day = new Date(row.checked * 1000).toLocaleDateString();
  return failed === 0
    ? trans.__('all %1 checks passed on %2', row.checks, day)
    : trans.__('%1 of %2 checks failed on %3', failed, row.checks, day);
}
