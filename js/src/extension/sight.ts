/** Whether a run is visible on this page, in a tab or below a cell. */

import type { CodeCell } from '@jupyterlab/cells';
import type { INotebookTracker } from '@jupyterlab/notebook';

import { runsShown } from './cell-runs.ts';

const LOOK_MS = 200;

/** Whether any view of the run is within the visible part of the page. */
export async function isInSight(run: string, notebooks: INotebookTracker | null): Promise<boolean> {
  if (document.hidden) {
    return false;
  }
  const nodes = [...document.querySelectorAll(`[data-mosaic-runs~="${CSS.escape(run)}"]`)];
  notebooks?.forEach(({ content, isVisible }) => {
    for (const cell of isVisible ? content.widgets : []) {
      if (cell.model.type === 'code') {
        const { model, outputArea } = cell as CodeCell;
        const metadata = Array.from(
          { length: model.outputs.length },
          (_, index) => model.outputs.get(index).metadata
        );
        if (runsShown(metadata).includes(run)) {
          nodes.push(outputArea.node);
        }
      }
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
    for (const node of nodes) {
      observer.observe(node);
    }
  });
}
