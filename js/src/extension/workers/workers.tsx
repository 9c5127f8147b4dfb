/** The section "Workers" of the runs panel. */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { type JSX, useEffect, useState } from 'react';

import type { Progress, WorkerRow } from '../../shared/run-api.ts';
import type { IRunSources } from '../tokens.ts';
import './workers.css';
import { messageOf } from '../../shared/transport.ts';
import { trans } from '../../views/translation.ts';
import { useAnswer } from '../../views/use-answer.ts';
import { checkText, sizeText, sorted, stateText, versionText } from './worker-text.ts';

export class WorkersSection extends ReactWidget {
  constructor(sources: IRunSources) {
    super();
    this._sources = sources;
    this.title.label = trans.__('Workers');
    this.id = 'mosaic-lab-workers';
    this.addClass('mosaic-workers-section');
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  /** The workers are read when the section is first opened. */
  protected render(): JSX.Element | null {
    this._opened ||= this.isVisible;
    return this._opened ? <WorkersView sources={this._sources} /> : null;
  }

  private readonly _sources: IRunSources;
  private _opened = false;
}

interface Work {
  readonly action: 'install' | 'check';
  readonly line: string;
  readonly error: string;
}

const NOTHING: Work = { action: 'install', line: '', error: '' };

/** The workers: installation state, versions and check results. With a kernel, they are installed and checked. */
function WorkersView({ sources }: { sources: IRunSources }): JSX.Element {
  const [version, setVersion] = useState(0);
  const reload = () => setVersion(before => before + 1);
  const { latest, problem } = useAnswer(sources, 'workers', {}, () => null, String(version));
  const [works, setWorks] = useState<Readonly<Record<string, Work>>>({});

  useEffect(() => {
    sources.changed.connect(reload);
    return () => void sources.changed.disconnect(reload);
  }, [sources]);
  const stores = sources.sources;
  const whyNot = stores.some(source => source.canAct) ? '' : (stores[0]?.whyNot ?? '');

  async function act(action: Work['action'], worker: string): Promise<void> {
    const note = (work: Partial<Work>) =>
      setWorks(old => ({ ...old, [worker]: { ...(old[worker] ?? NOTHING), action, ...work } }));
    const follow = (_: IRunSources, { worker: name, line }: Progress) =>
      name === worker && line && note({ line });
    note({ line: trans.__('starting'), error: '' });
    sources.progressed.connect(follow);
    try {
      await sources.call(action, { worker });
      note({ line: '' });
    } catch (reason) {
      note({ line: '', error: messageOf(reason) });
    } finally {
      sources.progressed.disconnect(follow);
    }
    reload();
  }

  if (!latest) return <p className="mosaic-workers-note">{problem || trans.__('Looking for workers')}</p>;
  return (
    <div className="mosaic-workers">
      {problem && (
        <p className="mosaic-workers-note" role="alert">
          {problem}
        </p>
      )}
      <ul aria-label={trans.__('Workers')}>
        {sorted(latest.result.rows).map(row => (
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
        <span className="mosaic-worker-version" title={versionText(row)}>
          {versionText(row)}
        </span>
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
