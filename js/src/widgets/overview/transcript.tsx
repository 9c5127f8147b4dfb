/** The exchanges of a run in a cell; the kernel shows a replay below, and keeps an excerpt in the notebook. */

import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Selection } from '../../shared/run-api.ts';
import { Transcript } from '../../views/transcript/transcript.tsx';
import { showPageNotice } from '../common/page-notice.ts';
import { type RenderContext, send } from '../host/anywidget.ts';
import { useTrait, view } from '../host/react.ts';
import type { TranscriptTraits } from '../messages.ts';
import { cellSource } from './cell-source.ts';

function Cell({ model, el }: RenderContext<TranscriptTraits>): ReactNode {
  const [source] = useState(() => cellSource(model.widget_manager, model.get('store')));
  const selection = useTrait(model, 'selection');
  const [, said] = useTrait(model, 'said');
  const select = useCallback((next: Selection) => send(model, 'selection', next), [model]);
  const report = useCallback((count: number) => send(model, 'found', count), [model]);
  useEffect(() => showPageNotice(el), [el]);
  return (
    <div className="mosaic-workspace-root">
      <Transcript
        source={source}
        run={model.get('run')}
        selection={selection}
        onSelection={select}
        onFound={report}
        onReplay={exchange => send(model, 'replay_request', { ...exchange, number: Date.now() })}
        said={said}
      />
    </div>
  );
}

export default view(Cell, 'mosaic-workspace-cell');
