/** The runs shown by a cell's outputs, and whether a run is visible on this page, in a tab or below a cell. */

import type { Cell, CodeCell } from '@jupyterlab/cells';
import type { INotebookTracker } from '@jupyterlab/notebook';

const METADATA = 'mosaic_lab';
const LOOK_MS = 200;

/**
 * The ids of the runs in the last panel among these outputs; empty without a panel of runs.
 *
 * A notebook may come from an untrusted source: values that are not lists of names are ignored.
 */
export function runsShown(outputs: Iterable<Readonly<Record<string, unknown>>>): string[] {
  let runs: string[] = [];
  for (const metadata of outputs) {
    const metadataOfLab = metadata[METADATA] as { shows?: { runs?: unknown } } | undefined;
    const names = metadataOfLab?.shows?.runs;
    if (Array.isArray(names) && names.length && names.every(name => typeof name === 'string')) runs = names;
  }
  return runs;
}

/** The ids of the runs in the last panel below a cell. */
export function runsOfCell(cell: Cell): string[] {
  if (cell.model.type !== 'code') return [];
  const { outputs } = (cell as CodeCell).model;
  return runsShown(Array.from({ length: outputs.length }, (_, index) => outputs.get(index).metadata));
}

/** Whether any view of the run is within the visible part of the page. */
export async function isInSight(run: string, notebooks: INotebookTracker | null): Promise<boolean> {
  if (document.hidden) return false;
  const nodes = [...document.querySelectorAll(`[data-mosaic-runs~="${CSS.escape(run)}"]`)];
  notebooks?.forEach(({ content, isVisible }) => {
    for (const cell of isVisible ? content.widgets : []) {
      if (runsOfCell(cell).includes(run)) nodes.push((cell as CodeCell).outputArea.node);
    }
  });
  return nodes.length > 0 && (await anyIntersects(nodes));
}

/** The observer accounts for tabs behind others and for scrolled content. */
function anyIntersects(nodes: readonly Element[]): Promise<boolean> {
  return new Promise(resolve => {
    const observer = new IntersectionObserver(entries => answer(entries.some(entry => entry.isIntersecting)));
    const timer = setTimeout(() => answer(false), LOOK_MS);
    const answer = (inSight: boolean) => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(inSight);
    };
    for (const node of nodes) observer.observe(node);
  });
}
