/** The table of a store's runs inside a cell: the display of `lab.runs`. */

import { type CSSProperties, useEffect, useState, useSyncExternalStore } from 'react';
import { markOf, openRuns } from '../../shared/page-extension.ts';
import { messageOf } from '../../shared/transport.ts';
import * as reasons from '../../views/runs/reasons.ts';
import { type Action, runActions } from '../../views/runs/run-actions.ts';
import { RunTable } from '../../views/runs/run-table.ts';
import { RunsView } from '../../views/runs/runs-view.tsx';
import { selectedTargets } from '../../views/runs/targets.ts';
import { showPageNotice } from '../common/page-notice.ts';
import type { RenderContext } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import { view } from '../host/react.ts';
import type { RunTableTraits } from '../messages.ts';
import { cellDialogs } from './cell-dialogs.ts';
import { cellSource } from './cell-source.ts';

const NO_TABS =
  'This page has no mosaic-lab extension, which shows runs in tabs. In a cell, lab.run("…") shows a run by its id.';

/** The extension's tab with the live panel: a widget cannot open one. */
function openAction(): Action {
  return {
    label: 'Open live panel',
    icon: 'open',
    whyNot: targets => reasons.panel(targets) || (markOf(document.body) === undefined ? NO_TABS : ''),
    run: targets => {
      const store = targets[0]?.source.store ?? '';
      if (!openRuns(document, { store, runs: targets.map(({ id }) => id), view: 'panel' })) {
        throw new Error(NO_TABS);
      }
    }
  };
}

function Cell({ model, el }: RenderContext<RunTableTraits>) {
  const [table] = useState(() => {
    const table = new RunTable();
    table.setSources([cellSource(model.widget_manager, model.get('store'))]);
    return table;
  });
  const [open] = useState(openAction);
  const [actions] = useState(() => [open, ...Object.values(runActions(table, cellDialogs))]);
  const [error, setError] = useState('');
  const { lines } = useSyncExternalStore(table.subscribe, () => table.snapshot);
  useEffect(() => {
    suppressShortcuts(el);
    showPageNotice(el);
    return () => table.close();
  }, [el, table]);
  const targets = selectedTargets(table);
  const act = async ({ whyNot, run }: Action) => {
    setError(whyNot(targets));
    try {
      if (!whyNot(targets)) await run(targets);
    } catch (reason) {
      setError(messageOf(reason));
    }
  };
  return (
    <div
      className="mosaic-run-table"
      style={{ '--mosaic-lines': Math.max(3, lines.length) } as CSSProperties}
    >
      <RunsView
        table={table}
        actions={actions.map(action => ({ ...action, run: () => void act(action) }))}
        readOnly={new Map()}
        notices={error ? [error] : []}
        onOpen={() => void act(open)}
        empty={<p className="mosaic-runs-empty">No runs yet.</p>}
      />
    </div>
  );
}

// The class: the saved form is hidden while this is shown; see mosaic_lab/widgets/page/saved_form.py.
export default view(Cell, 'mosaic-panel');
