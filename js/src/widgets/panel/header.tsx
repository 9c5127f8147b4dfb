/** The top of a panel: the run, its state and reason, its progress, and buttons to stop and resume it. */

import { useEffect, useState } from 'react';
import { markOf, openRuns } from '../../shared/page-extension.ts';
import { SILENT_KERNEL, type Trouble, useKernelTrouble } from '../common/kernel-watch.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { Button, Notice } from '../common/parts.tsx';
import { type RenderContext, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { HeaderTraits, Summary } from '../messages.ts';

function troubleText(trouble: Trouble, again: string): string {
  if (trouble === 'silent') return SILENT_KERNEL;
  if (trouble === '') return '';
  return `The kernel was restarted or shut down. Run mosaic_lab.Lab() to bring this panel back; ${again}, too.`;
}

export function Header({ model, el }: RenderContext<HeaderTraits>) {
  const summary = useTrait(model, 'summary');
  const resumable = useTrait(model, 'resumable');
  const continued = useTrait(model, 'continued');
  const trouble = useKernelTrouble(model, el, () => model.get('summary').stop !== '');
  /** The summary at the time of the last click on the stop button. */
  const [stopped, setStopped] = useState<Summary | null>(null);
  const { title, detail, chips, reason, facts, runs, store, stop, state, again } = summary;
  const gone = trouble !== '';
  useEffect(() => showPageNotice(el), [el]);
  useEffect(() => {
    const panel = el.closest('.mosaic-panel');
    panel?.classList.toggle('mosaic-cut-off', gone);
    for (const controls of panel?.querySelectorAll<HTMLElement>('.mosaic-controls') ?? []) {
      controls.inert = gone;
    }
  }, [el, gone]);
  return (
    <>
      <div className="mosaic-row">
        <span className="mosaic-title" title={title}>
          {title}
        </span>
        <span className="mosaic-detail" title={detail}>
          {detail}
        </span>
        <Button
          title="Charts of these runs in a tab of their own"
          hidden={runs.length === 0 || markOf(document.body) === undefined}
          onClick={() => openRuns(document, { store, runs, view: 'workspace' })}
        >
          Open in the workspace
        </Button>
        <Button
          className="mosaic-stop"
          hidden={stop === ''}
          disabled={state === 'stopping' || stopped === summary || gone}
          onClick={() => {
            setStopped(summary);
            send(model, 'stops', model.get('stops') + 1);
          }}
        >
          {stop}
        </Button>
        <Button
          title="Start a run that continues this one from its newest checkpoint"
          hidden={!resumable}
          disabled={gone}
          onClick={() => send(model, 'resumes', model.get('resumes') + 1)}
        >
          Resume
        </Button>
      </div>
      <Progress {...summary} />
      <div className="mosaic-row mosaic-facts">
        <span className="mosaic-chips">
          {chips.map(({ state, text }, i) => (
            <span key={i} className={`mosaic-chip mosaic-${state}`}>
              {text}
            </span>
          ))}
        </span>
        <span className="mosaic-reason" title={reason}>
          {reason}
        </span>
        <Button
          title={`lab.run("${continued}") as the last line of a cell shows it live, too`}
          hidden={continued === ''}
          onClick={() => openRuns(document, { store, runs: [continued], view: 'panel' })}
        >
          {`Continued by ${continued}`}
        </Button>
        <span className="mosaic-numbers">
          {facts.map(([value, unit], i) => (
            <span key={i} className="mosaic-fact">
              <b>{value}</b> {unit}
            </span>
          ))}
        </span>
      </div>
      <Notice className="mosaic-warning mosaic-disconnected">{troubleText(trouble, again)}</Notice>
    </>
  );
}

function Progress({ progress, state }: Pick<Summary, 'progress' | 'state'>) {
  const percent = progress === null ? undefined : 100 * progress;
  return (
    <div
      className={`mosaic-progress${percent === undefined ? ' mosaic-unknown' : ''}`}
      data-state={state}
      role="progressbar"
      aria-label="Progress"
      aria-valuenow={percent && Math.round(percent)}
    >
      <div className="mosaic-progress-fill" style={{ width: percent === undefined ? '' : `${percent}%` }} />
    </div>
  );
}
