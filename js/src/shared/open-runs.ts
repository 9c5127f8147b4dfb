/**
 * Lets a widget ask the page's extension to show runs in a tab, by an event. Without the extension, no one
 * handles it.
 */

const EVENT = 'mosaic-lab:open-runs';

export interface OpenRuns {
  /** The store's folder. */
  readonly store: string;
  /** Their ids. */
  readonly runs: readonly string[];
  readonly view: 'panel' | 'workspace';
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
