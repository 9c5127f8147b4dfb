/**
 * Plugin: the commands "New training", "New evaluation" and "New comparison". Each opens a form in a tab,
 * whose code is inserted as a cell into the current notebook. Nothing is started automatically.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { type MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { addIcon, ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { type JSX, useCallback, useEffect, useState } from 'react';

import type { FormKind, RunRow } from '../../shared/run-api.ts';
import { latestRows } from '../../shared/run-source.ts';
import { SavedState } from '../saved-state.ts';
import { newTab, showTab } from '../show-tab.ts';
import { CommandIDs, IRunSources } from '../tokens.ts';
import { type Filled, filledOf } from './form-model.ts';
import { FormView } from './form-view.tsx';
import './forms.css';
import { trans } from '../../views/translation.ts';
import { freeName, IMPORT, labVariable, namesIn } from './lab-variable.ts';

export const formsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:forms',
  description: 'Forms for new trainings, evaluations and comparisons, which insert a code cell.',
  autoStart: true,
  requires: [INotebookTracker, IRunSources],
  optional: [ILayoutRestorer, IStateDB],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    sources: IRunSources,
    restorer: ILayoutRestorer | null,
    states: IStateDB | null
  ) => {
    const forms: readonly [string, FormKind, string, string][] = [
      [CommandIDs.newTraining, 'training', trans.__('New training'), trans.__('A form for lab.train')],
      [
        CommandIDs.newEvaluation,
        'evaluation',
        trans.__('New evaluation'),
        trans.__('A form for lab.evaluate')
      ],
      [CommandIDs.newComparison, 'comparison', trans.__('New comparison'), trans.__('A form for lab.compare')]
    ];
    for (const [command, kind, label, caption] of forms) {
      const tabs = new WidgetTracker<MainAreaWidget>({ namespace: `mosaic-lab-${kind}-form` });
      app.commands.addCommand(command, {
        label,
        caption,
        icon: addIcon,
        describedBy: { args: { type: 'object', properties: {} } },
        execute: async () => {
          const kept = new SavedState(states, `mosaic-lab:${kind}-form`);
          const filled = filledOf(await kept.fetch());
          let tab = tabs.find(() => true);
          if (!tab) {
            const content = ReactWidget.create(<Form {...{ app, tracker, sources, kind, kept, filled }} />);
            tab = newTab(content, `mosaic-lab-${kind}-form`, { label, icon: addIcon });
            tab.disposed.connect(() => kept.remove()); // the next one starts with the defaults
            void tabs.add(tab);
          }
          const notebook = tracker.currentWidget;
          showTab(app, tab, notebook ? { ref: notebook.id, mode: 'split-right' } : {});
        }
      });
      void restorer?.restore(tabs, { command, name: () => kind });
    }
  }
};

interface FormProps {
  readonly app: JupyterFrontEnd;
  readonly tracker: INotebookTracker;
  readonly sources: IRunSources;
  readonly kind: FormKind;
  readonly kept: SavedState;
  readonly filled: Filled;
}

/** A form for a cell of the current notebook. */
function Form(props: FormProps): JSX.Element {
  return <UseSignal signal={props.tracker.currentChanged}>{() => <NotebookForm {...props} />}</UseSignal>;
}

function NotebookForm({ app, tracker, sources, kind, kept, filled }: FormProps): JSX.Element {
  const [rows, setRows] = useState<readonly RunRow[]>([]);
  const panel = tracker.currentWidget?.content.model ? tracker.currentWidget : null;
  const lab = panel ? labOf(panel) : { name: 'lab', setup: '', taken: [] };
  const kernel = panel?.sessionContext.session?.kernel?.id;
  const store = sources.sources.find(({ kernelId }) => kernelId !== null && kernelId === kernel);
  useEffect(() => {
    if (store && kind !== 'training') void latestRows(store).then(setRows);
  }, [store, kind]);
  const keep = useCallback((filled: Filled) => kept.save(filled), [kept]);
  const insert = (code: string) => {
    if (!panel) return;
    insertCell(panel, `${labOf(panel).setup}${code}`);
    app.shell.activateById(panel.id);
  };
  const target = panel?.title.label ?? null;
  return <FormView {...{ kind, sources, rows, lab, target, filled, insert, keep }} />;
}

/** The notebook's `Lab` variable, the lines that create one if there is none, and the names in use. */
function labOf(panel: NotebookPanel): { name: string; setup: string; taken: string[] } {
  const sources: string[] = [];
  for (const cell of panel.content.model?.cells ?? []) {
    if (cell.type === 'code') sources.push(cell.sharedModel.getSource());
  }
  const taken = namesIn(sources);
  const known = labVariable(sources);
  if (known !== null) return { name: known, setup: '', taken };
  const name = freeName('lab', taken);
  const [line, module] = taken.includes('mosaic') ? ['import mosaic_lab', 'mosaic_lab'] : [IMPORT, 'mosaic'];
  return { name, setup: `${line}\n\n${name} = ${module}.Lab()\n\n`, taken };
}

/** Insert `code` as a new code cell below the active one, and make it the active cell. It is not executed. */
function insertCell(panel: NotebookPanel, code: string): void {
  const notebook = panel.content;
  const active = notebook.activeCell;
  const isEmpty = active?.model.type === 'code' && active.model.sharedModel.getSource().trim() === '';
  if (!isEmpty) NotebookActions.insertBelow(notebook);
  if (notebook.activeCell?.model.type !== 'code') NotebookActions.changeCellType(notebook, 'code');
  notebook.activeCell?.model.sharedModel.setSource(code);
  notebook.scrollToItem(notebook.activeCellIndex).catch(() => undefined);
}
