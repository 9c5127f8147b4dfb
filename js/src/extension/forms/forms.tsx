/**
 * Plugin: the commands "New training", "New evaluation" and "New comparison". Each opens a form in a tab,
 * whose code is inserted as a cell into the current notebook. Nothing is started automatically.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { addIcon, ReactWidget } from '@jupyterlab/ui-components';
import type { JSX } from 'react';

import type { FormKind } from '../../shared/run-api.ts';
import { showTab } from '../show-tab.ts';
import { latestRows } from '../sources/latest-rows.ts';
import { CommandIDs, IRunSources } from '../tokens.ts';
import { type Filled, withTrainings } from './form-model.ts';
import { type FormSource, FormView } from './form-view.tsx';
import './forms.css';
import { trans } from '../../views/translation.ts';
import { insertCell, labOf } from './insert-cell.ts';
import { KeptForm } from './kept-form.ts';

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
      const tabs = new WidgetTracker<MainAreaWidget<Form>>({ namespace: `mosaic-lab-${kind}-form` });
      app.commands.addCommand(command, {
        label,
        caption,
        icon: addIcon,
        describedBy: { args: { type: 'object', properties: {} } },
        execute: async () => {
          const kept = new KeptForm(states, kind);
          const filled = await kept.fetch();
          let tab = tabs.find(() => true);
          if (!tab) {
            tab = newTab(new Form(app, tracker, sources, kind, kept, filled), label);
            tab.disposed.connect(() => kept.remove());
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

function newTab(content: Form, label: string): MainAreaWidget<Form> {
  const tab = new MainAreaWidget({ content });
  tab.toolbar.hide();
  tab.id = `mosaic-lab-${content.kind}-form`;
  tab.title.label = label;
  tab.title.icon = addIcon;
  tab.title.closable = true;
  return tab;
}

class Form extends ReactWidget {
  constructor(
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    sources: IRunSources,
    kind: FormKind,
    kept: KeptForm,
    filled: Filled
  ) {
    super();
    this._app = app;
    this._tracker = tracker;
    this.kind = kind;
    this._filled = filled;
    this._keep = now => kept.save(now);
    this._source = {
      workers: async () => (await sources.call('workers', {})).result.rows,
      form: async (kind, worker, algorithm) => {
        const { result } = await sources.call('forms', {
          kind,
          ...(worker === null ? {} : { worker }),
          ...(algorithm === null ? {} : { algorithm })
        });
        const kernel = this._target?.sessionContext.session?.kernel?.id;
        const store = sources.sources.find(({ kernelId }) => kernelId !== null && kernelId === kernel);
        return kind === 'training' || !store
          ? result
          : { ...result, schema: withTrainings(result.schema, await latestRows(store)) };
      },
      code: async (kind, values) => {
        const { name: lab, taken } = this._target ? labOf(this._target) : { name: 'lab', taken: [] };
        return (await sources.call('code', { kind, values, lab, taken })).result.code;
      }
    };
    tracker.currentChanged.connect(this._targetChanged, this);
  }

  protected render(): JSX.Element {
    return (
      <FormView
        kind={this.kind}
        source={this._source}
        target={this._target?.title.label ?? null}
        filled={this._filled}
        insert={code => this._insert(code)}
        keep={this._keep}
      />
    );
  }

  private get _target(): NotebookPanel | null {
    const panel = this._tracker.currentWidget;
    return panel?.content.model ? panel : null;
  }

  private _targetChanged(): void {
    this.update();
  }

  private _insert(code: string): void {
    const panel = this._target;
    if (panel) {
      insertCell(panel, `${labOf(panel).setup}${code}`);
      this._app.shell.activateById(panel.id);
    }
  }

  readonly kind: FormKind;
  private readonly _filled: Filled;
  private readonly _keep: (filled: Filled) => void;
  private readonly _app: JupyterFrontEnd;
  private readonly _tracker: INotebookTracker;
  private readonly _source: FormSource;
}
