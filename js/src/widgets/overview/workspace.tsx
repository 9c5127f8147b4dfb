/** The workspace inside a cell; the traits `state` and `visible` serve the picture in the saved notebook. */

import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { restoredState, type WorkspaceState } from '../../views/workspace/state.ts';
import { Workspace } from '../../views/workspace/workspace.tsx';
import { showPageNotice } from '../common/page-notice.ts';
import { type RenderContext, send } from '../host/anywidget.ts';
import { view } from '../host/react.ts';
import type { WorkspaceTraits } from '../messages.ts';
import { cellSource } from './cell-source.ts';

const SEND_MS = 500;

function Cell({ model, el }: RenderContext<WorkspaceTraits>): ReactNode {
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
  useEffect(() => showPageNotice(el), [el]);
  return (
    <div className="mosaic-workspace-root">
      <Workspace source={source} state={state} onState={change} onVisible={report} />
    </div>
  );
}

export default view(Cell, 'mosaic-workspace-cell');
