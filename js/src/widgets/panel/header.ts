/** The top of a panel: the run, its state and reason, its progress, and buttons to stop and resume it. */

import './panel.css';
import { openRuns } from '../../shared/open-runs.ts';
import { markOf } from '../../shared/version.ts';
import { button } from '../common/buttons.ts';
import { element } from '../common/elements.ts';
import { SILENT_KERNEL, type Trouble, watchKernel } from '../common/kernel-watch.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { reportVisibility } from '../common/visibility.ts';
import { onChange, type RenderContext, send } from '../host/anywidget.ts';
import type { HeaderTraits } from '../messages.ts';

function troubleText(trouble: Trouble, again: string): string {
  if (trouble === 'silent') return SILENT_KERNEL;
  if (trouble === '') return '';
  return `The kernel was restarted or shut down. This panel comes back when mosaic_lab.Lab() has run again; ${again}, too.`;
}

function render({ model, el }: RenderContext<HeaderTraits>): () => void {
  el.classList.add('mosaic-header');
  const top = element('div', 'mosaic-row', el);
  const title = element('span', 'mosaic-title', top);
  const detail = element('span', 'mosaic-detail', top);
  const charts = button(top, 'Open in the workspace', 'Charts of these runs in a tab of their own', () => {
    const { store, runs } = model.get('summary');
    openRuns(document, { store, runs, view: 'workspace' });
  });
  const stop = button(
    top,
    '',
    '',
    () => {
      stop.disabled = true;
      send(model, 'stops', model.get('stops') + 1);
    },
    'mosaic-stop'
  );
  const hint = 'Start a run that continues this one from its newest checkpoint';
  const resume = button(top, 'Resume', hint, () => send(model, 'resumes', model.get('resumes') + 1));
  const bar = element('div', 'mosaic-progress', el);
  bar.setAttribute('role', 'progressbar');
  bar.setAttribute('aria-label', 'Progress');
  const fill = element('div', 'mosaic-progress-fill', bar);
  const line = element('div', 'mosaic-row mosaic-facts', el);
  const chips = element('span', 'mosaic-chips', line);
  const reason = element('span', 'mosaic-reason', line);
  const continued = button(line, '', '', () => {
    const { store } = model.get('summary');
    openRuns(document, { store, runs: [model.get('continued')], view: 'panel' });
  });
  const facts = element('span', 'mosaic-numbers', line);
  const gone = element('div', 'mosaic-notice mosaic-warning mosaic-disconnected', el);
  showPageNotice(el);

  let trouble: Trouble = '';
  const drawProgress = (progress: number | null, state: string) => {
    bar.dataset.state = state;
    bar.classList.toggle('mosaic-unknown', progress === null);
    fill.style.width = progress === null ? '' : `${100 * progress}%`;
    if (progress === null) bar.removeAttribute('aria-valuenow');
    else bar.setAttribute('aria-valuenow', String(Math.round(100 * progress)));
  };
  const draw = () => {
    const summary = model.get('summary');
    title.textContent = title.title = summary.title;
    detail.textContent = detail.title = summary.detail;
    chips.replaceChildren(
      ...summary.chips.map(({ state, text }) => element('span', `mosaic-chip mosaic-${state}`, null, text))
    );
    reason.textContent = reason.title = summary.reason;
    drawProgress(summary.progress, summary.state);
    facts.replaceChildren(
      ...summary.facts.map(([value, unit]) => {
        const fact = element('span', 'mosaic-fact');
        element('b', '', fact, value);
        fact.append(` ${unit}`);
        return fact;
      })
    );
    charts.hidden = summary.runs.length === 0 || markOf(document.body) === undefined;
    stop.hidden = summary.stop === '';
    stop.textContent = summary.stop;
    const next = model.get('continued');
    continued.hidden = next === '';
    continued.textContent = `Continued by ${next}`;
    continued.title = `lab.run("${next}") as the last line of a cell shows it live, too`;
    resume.hidden = !model.get('resumable');
    resume.disabled = trouble !== '';
    stop.disabled = summary.state === 'stopping' || trouble !== '';
    gone.textContent = troubleText(trouble, summary.again);
    gone.hidden = trouble === '';
  };
  onChange(model, ['summary', 'resumable', 'continued'], draw);
  draw();
  const visibility = reportVisibility(model, el);
  const live = () => model.get('summary').stop !== '';
  const unwatch = watchKernel(model, el, { visible: visibility.visible, live }, now => {
    trouble = now;
    const panel = el.closest('.mosaic-panel');
    panel?.classList.toggle('mosaic-cut-off', trouble !== '');
    for (const controls of panel?.querySelectorAll<HTMLElement>('.mosaic-controls') ?? []) {
      controls.inert = trouble !== '';
    }
    draw();
  });
  return () => {
    unwatch();
    visibility.end();
  };
}

export default { render };
