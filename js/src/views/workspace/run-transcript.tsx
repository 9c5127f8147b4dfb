/** The exchanges of an evaluation in the workspace; the extension shows a replay in a tab. */

import { type ReactNode, useState } from 'react';
import { openRuns } from '../../shared/page-extension.ts';
import { Field, Select } from '../controls.tsx';
import { Transcript } from '../transcript/transcript.tsx';
import { trans } from '../translation.ts';
import type { Contents } from './contents.ts';

/** `evaluations`: the ids of the runs to choose from. */
export function RunTranscript(props: Contents & { evaluations: readonly string[] }): ReactNode {
  const { source, evaluations: runs, names, state, change } = props;
  const { transcript } = state;
  const [said, say] = useState('');
  const run = runs.find(id => id === transcript.run) ?? runs[0];
  if (run === undefined) return <p className="mosaic-empty">{trans.__('No evaluation is selected.')}</p>;
  return (
    <div className="mosaic-workspace-transcript">
      {runs.length > 1 && (
        <Field name={trans.__('Evaluation')}>
          <Select
            value={run}
            options={runs.map(id => [id, names.get(id) ?? id])}
            choose={id => change({ transcript: { ...transcript, run: id } })}
          />
        </Field>
      )}
      <Transcript
        source={source}
        run={run}
        selection={transcript.selection}
        onSelection={selection => change({ transcript: { ...transcript, selection } })}
        onReplay={replay => {
          const opened = openRuns(document, { store: source.store, runs: [run], view: 'replay', replay });
          say(opened ? '' : trans.__('Replays open in a tab, which requires the mosaic-lab extension.'));
        }}
        said={said}
      />
    </div>
  );
}
