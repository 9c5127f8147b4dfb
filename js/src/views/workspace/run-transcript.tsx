/** The exchanges of an evaluation in the workspace; the extension shows a replay in a tab. */

import { type ReactNode, useState } from 'react';
import { openRuns } from '../../shared/page-extension.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { Field, Select } from '../controls.tsx';
import { Transcript } from '../transcript/transcript.tsx';
import { trans } from '../translation.ts';
import type { WorkspaceState } from './state.ts';

interface RunTranscriptProps {
  readonly source: RunSource;
  /** The evaluations to choose from. */
  readonly runs: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly transcript: WorkspaceState['transcript'];
  readonly onTranscript: (transcript: WorkspaceState['transcript']) => void;
}

export function RunTranscript(props: RunTranscriptProps): ReactNode {
  const { source, runs, names, transcript, onTranscript } = props;
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
            choose={id => onTranscript({ ...transcript, run: id })}
          />
        </Field>
      )}
      <Transcript
        source={source}
        run={run}
        selection={transcript.selection}
        onSelection={selection => onTranscript({ ...transcript, selection })}
        onReplay={replay => {
          const opened = openRuns(document, { store: source.store, runs: [run], view: 'replay', replay });
          say(opened ? '' : trans.__('Replays open in a tab, which requires the mosaic-lab extension.'));
        }}
        said={said}
      />
    </div>
  );
}
