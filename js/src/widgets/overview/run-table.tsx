/** The table of a store's runs inside a cell: what `lab.runs` shows. */

import './run-table.css';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { RunEntry } from '../../views/runs/run-rows.ts';
import { RunRows } from '../../views/runs/run-rows.ts';
import { RunTable } from '../../views/runs/run-table.ts';
import { type RunAction, RunsView } from '../../views/runs/runs-view.tsx';
import { english } from '../../views/translation.ts';
import { element } from '../common/elements.ts';
import { showPageNotice } from '../common/page-notice.ts';
import type { RenderContext } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { RunTableTraits } from '../messages.ts';
import { CellSource } from './cell-source.ts';

const LINE_PX = 26;
const HEAD_PX = 110;
const MOST_PX = 560;

function Cell({ source, table }: { source: CellSource; table: RunTable }) {
  const [error, setError] = useState('');
  const [selected, setSelected] = useState<readonly RunEntry[]>([]);
  const [lines, setLines] = useState(0);
  useEffect(
    () =>
      table.subscribe(() => {
        setSelected(table.selected);
        setLines(table.snapshot.lines.length);
      }),
    [table]
  );
  const alive = selected.filter(({ row }) => row.alive).map(({ row }) => row.id);
  const whyNot = selected.length ? 'None of the selected runs is alive.' : 'Select a run first.';
  const stop: RunAction = {
    id: 'stop',
    label: 'Stop',
    icon: 'stop',
    whyNot: alive.length ? '' : whyNot,
    run: () => {
      setError('');
      source.call('stop', { runs: alive }).catch((reason: Error) => setError(reason.message));
    }
  };
  return (
    <div
      className="mosaic-run-table"
      style={{ height: Math.min(MOST_PX, HEAD_PX + LINE_PX * Math.max(3, lines)) }}
    >
      <RunsView
        table={table}
        trans={english}
        actions={[stop]}
        readOnly={new Map()}
        notices={error ? [error] : []}
        onOpen={() => {}}
        empty={<p className="mosaic-runs-empty">No runs yet.</p>}
      />
    </div>
  );
}

function render({ model, el }: RenderContext<RunTableTraits>): () => void {
  suppressShortcuts(el);
  // The saved form is hidden where this is; see mosaic_lab/widgets/page/outputs.py.
  el.classList.add('mosaic-panel');
  const source = new CellSource(model.widget_manager, model.get('store'));
  const rows = new RunRows();
  const table = new RunTable(rows, english);
  rows.setSources([source]);
  const root = createRoot(element('div', '', el));
  showPageNotice(el);
  root.render(<Cell source={source} table={table} />);
  return () => {
    root.unmount();
    table.close();
    rows.close();
  };
}

export default { render };
