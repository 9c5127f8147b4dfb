/** What the panel of runs shows is kept from one visit of the page to the next. */

import type { IStateDB } from '@jupyterlab/statedb';

import type { RunTable } from '../../views/runs/run-table.ts';
import type { RunsSection } from './runs-section.tsx';

const STATE = 'mosaic-lab:runs-table';
const SAVE_MS = 500;

/** Take up what was shown when the page was last here, and keep it. */
export async function remember(table: RunTable, section: RunsSection, state: IStateDB): Promise<void> {
  const remembered = await state.fetch(STATE);
  if (remembered !== undefined) {
    table.restore(remembered);
  }
  const { store } = (remembered ?? {}) as { store?: unknown };
  if (typeof store === 'string') {
    section.choose(store);
  }
  const now = () => JSON.stringify({ ...table.saved, store: section.chosen });
  let saved = now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const save = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (now() !== saved) {
        saved = now();
        void state.save(STATE, JSON.parse(saved));
      }
    }, SAVE_MS);
  };
  table.subscribe(save);
  section.changed.connect(save);
}
