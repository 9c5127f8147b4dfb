/**
 * The page's extension and its widgets: the extension comes from Jupyter's environment, a widget from its kernel's.
 * The extension records its version on the page, and both report differences. A widget asks the extension to show
 * runs in a tab by an event, which has no handler without the extension.
 */

import manifest from '../../package.json' with { type: 'json' };
import { trans } from '../views/translation.ts';
import type { ExchangePlace } from './run-api.ts';

export const VERSION = manifest.version;

/** Record the extension's version on the page. */
export function markPage(page: HTMLElement): void {
  page.dataset.mosaicLab = VERSION;
}

/** The version of the page's extension; undefined without one. */
export function markOf(page: HTMLElement): string | undefined {
  return page.dataset.mosaicLab;
}

/** What to do if the versions of the page and a kernel differ; empty if they are equal. */
export function aboutKernel(page: string, kernel: string): string {
  if (page === kernel) return '';
  return isOlder(page, kernel)
    ? trans.__(
        'This page has mosaic-lab %1, the kernel %2. Reload the page; if this line stays, install %2 in the environment that runs Jupyter (pip install mosaic-lab==%2).',
        page,
        kernel
      )
    : trans.__(
        'This page has mosaic-lab %1, a kernel %2. Restart the kernel; if this line stays, install %1 in the kernel’s environment (pip install mosaic-lab==%1).',
        page,
        kernel
      );
}

/** What to do if the versions of the page and Jupyter's server differ; empty if they are equal. */
export function aboutServer(page: string, server: string): string {
  if (page === server) return '';
  return isOlder(page, server)
    ? trans.__('This page has mosaic-lab %1, Jupyter’s server %2. Reload the page.', page, server)
    : trans.__(
        'This page has mosaic-lab %1, Jupyter’s server still runs %2. Restart the server.',
        page,
        server
      );
}

function isOlder(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

const EVENT = 'mosaic-lab:open-runs';

interface OpenRuns {
  /** The store's folder. */
  readonly store: string;
  /** Their ids. */
  readonly runs: readonly string[];
  readonly view: 'panel' | 'workspace' | 'replay';
  /** Where a replay begins. */
  readonly replay?: ExchangePlace;
}

/** Whether the page has shown them. */
export function openRuns(page: EventTarget, runs: OpenRuns): boolean {
  return !page.dispatchEvent(new CustomEvent(EVENT, { detail: runs, cancelable: true }));
}

export function onOpenRuns(page: EventTarget, open: (runs: OpenRuns) => void): void {
  page.addEventListener(EVENT, event => {
    event.preventDefault();
    open((event as CustomEvent<OpenRuns>).detail);
  });
}
