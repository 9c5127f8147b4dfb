/** The workers: installation state, versions and check results; installs and checks them. */

import { type JSX, useEffect, useState } from 'react';

import type { WorkerRow } from '../../shared/run-api.ts';
import { messageOf } from '../../shared/transport.ts';
import { trans } from '../../views/translation.ts';
import { checkText, sizeText, sorted, stateText, versionText } from './worker-text.ts';

/** The view's interface to a kernel or the server; errors have a message for the user. */
export interface WorkersSource {
  /** Why nothing can be installed or checked; empty if it is possible. */
  readonly whyNot: string;
  workers(): Promise<readonly WorkerRow[]>;
  /** Resolves at the end; `progress` is called with each line of output. */
  act(action: 'install' | 'check', worker: string, progress: (line: string) => void): Promise<void>;
  /** Call `listener` when `whyNot` or the workers may have changed. */
  onChange(listener: () => void): () => void;
}

interface Work {
  readonly action: 'install' | 'check';
  readonly line: string;
  readonly error: string;
}

const NOTHING: Work = { action: 'install', line: '', error: '' };

export function WorkersView({ source }: { source: WorkersSource }): JSX.Element {
  const [rows, setRows] = useState<readonly WorkerRow[] | null>(null);
  const [error, setError] = useState('');
  const [works, setWorks] = useState<Readonly<Record<string, Work>>>({});
  const [whyNot, setWhyNot] = useState(source.whyNot);

  const load = () =>
    source.workers().then(
      found => {
        setRows(found);
        setError('');
      },
      reason => setError(messageOf(reason))
    );

  useEffect(() => {
    load();
    return source.onChange(() => {
      setWhyNot(source.whyNot);
      load();
    });
  }, [source]);

  async function act(action: Work['action'], worker: string): Promise<void> {
    const note = (work: Partial<Work>) =>
      setWorks(old => ({ ...old, [worker]: { ...(old[worker] ?? NOTHING), action, ...work } }));
    note({ line: trans.__('starting'), error: '' });
    try {
      await source.act(action, worker, line => note({ line }));
      note({ line: '' });
    } catch (reason) {
      note({ line: '', error: messageOf(reason) });
    }
    await load();
  }

  if (rows === null) {
    return <p className="mosaic-workers-note">{error || trans.__('Looking for workers')}</p>;
  }
  return (
    <div className="mosaic-workers">
      {error && (
        <p className="mosaic-workers-note" role="alert">
          {error}
        </p>
      )}
      <ul aria-label={trans.__('Workers')}>
        {sorted(rows).map(row => (
          <Worker
            key={row.name}
            row={row}
            work={works[row.name] ?? NOTHING}
            whyNot={whyNot}
            act={action => void act(action, row.name)}
          />
        ))}
      </ul>
    </div>
  );
}

function Worker(props: {
  row: WorkerRow;
  work: Work;
  whyNot: string;
  act(action: Work['action']): void;
}): JSX.Element {
  const { row, work, whyNot, act } = props;
  const busy = work.line !== '';
  const action = row.state === 'installed' ? 'check' : 'install';
  const label =
    action === 'check' ? trans.__('Check') : row.created ? trans.__('Install again') : trans.__('Install');
  return (
    <li className="mosaic-worker">
      <div className="mosaic-worker-head">
        <span className={`mosaic-worker-state mosaic-mod-${row.state.replace(' ', '-')}`}>
          {stateText(row)}
        </span>
        <strong title={row.about}>{row.name}</strong>
        <span className="mosaic-worker-version">{versionText(row)}</span>
        <button
          type="button"
          className="jp-mod-styled jp-mod-minimal"
          disabled={busy || whyNot !== ''}
          title={whyNot || (action === 'check' ? trans.__('Run the conformance suite') : row.about)}
          aria-label={`${label}: ${row.name}`}
          onClick={() => act(action)}
        >
          {label}
        </button>
      </div>
      <div className="mosaic-worker-facts">
        {[row.detail, sizeText(row.size_bytes), checkText(row)].filter(Boolean).join(' · ')}
      </div>
      {busy && (
        <div className="mosaic-worker-progress" role="status">
          {work.line}
        </div>
      )}
      {work.error && (
        <pre className="mosaic-worker-error" role="alert">
          {work.error}
        </pre>
      )}
      {Object.entries(row.failed).map(([name, detail]) => (
        <details key={name} className="mosaic-worker-failed">
          <summary>{trans.__('failed: %1', name)}</summary>
          <pre>{detail}</pre>
        </details>
      ))}
    </li>
  );
}
