/** The workspace inside a cell; the traits `state` and `visible` serve the picture in the saved notebook. */

import { type ReactNode, useCallback, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { restoredState, type WorkspaceState } from '../../views/workspace/state.ts';
import { Workspace } from '../../views/workspace/workspace.tsx';
import { element } from '../common/elements.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { type Model, type RenderContext, send } from '../host/anywidget.ts';
import type { WorkspaceTraits } from '../messages.ts';
import { cellSource } from './cell-source.ts';

const SEND_MS = 500;

function Cell({ model }: { model: Model<WorkspaceTraits> }): ReactNode {
  const [source] = useState(() => cellSource(model.widget_manager, model.get('store')));
  const [state, setState] = useState(() => restoredState(model.get('state'), model.get('runs')));
  const latest = useRef(state);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const change = useCallback(
    (make: (state: WorkspaceState) => WorkspaceState) => {
      latest.current = make(latest.current);
      setState(latest.current);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => send(model, 'state', latest.current), SEND_MS);
    },
    [model]
  );
  const report = useCallback((runs: readonly string[]) => send(model, 'visible', runs), [model]);
  return <Workspace source={source} state={state} onState={change} onVisible={report} />;
}

function render({ model, el }: RenderContext<WorkspaceTraits>): () => void {
  el.classList.add('mosaic-workspace-cell');
  const root = createRoot(element('div', 'mosaic-workspace-root', el));
  showPageNotice(el);
  root.render(<Cell model={model} />);
  return () => root.unmount();
}

export default { render };
