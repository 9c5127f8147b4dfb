/** The exchanges of a run in a cell; the kernel shows a replay below, and keeps an excerpt in the notebook. */

import { type ReactNode, useCallback, useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { Selection } from '../../shared/run-api.ts';
import { Transcript } from '../../views/transcript/transcript.tsx';
import { element } from '../common/elements.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { type Model, type RenderContext, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { TranscriptTraits } from '../messages.ts';
import { cellSource } from './cell-source.ts';

function Cell({ model }: { model: Model<TranscriptTraits> }): ReactNode {
  const [source] = useState(() => cellSource(model.widget_manager, model.get('store')));
  const selection = useTrait(model, 'selection');
  const [, said] = useTrait(model, 'said');
  const select = useCallback((next: Selection) => send(model, 'selection', next), [model]);
  const report = useCallback((found: number) => send(model, 'found', found), [model]);
  return (
    <Transcript
      source={source}
      run={model.get('run')}
      selection={selection}
      onSelection={select}
      onFound={report}
      onReplay={place => send(model, 'replay_request', { ...place, number: Date.now() })}
      said={said}
    />
  );
}

function render({ model, el }: RenderContext<TranscriptTraits>): () => void {
  el.classList.add('mosaic-workspace-cell');
  const root = createRoot(element('div', 'mosaic-workspace-root', el));
  showPageNotice(el);
  root.render(<Cell model={model} />);
  return () => root.unmount();
}

export default { render };
