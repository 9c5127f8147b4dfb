/** Keeps the state of the runs panel over reloads of the page. */

import type { IStateDB } from '@jupyterlab/statedb';

import type { RunTable } from '../../views/runs/run-table.ts';
import type { RunsSection } from './runs-section.tsx';

const STATE = 'mosaic-lab:runs-table';
const SAVE_MS = 500;

/** Restore the panel's last state on this page, and keep it from now on. */
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
