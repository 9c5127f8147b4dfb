/**
 * Plugin: the commands "New training", "New evaluation" and "New comparison". Each opens a form in a tab,
 * whose code is inserted as a cell into the current notebook. Nothing is started automatically.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { type MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { addIcon, ReactWidget, UseSignal } from '@jupyterlab/ui-components';

import type { FormKind } from '../../shared/run-api.ts';
import { SavedState } from '../saved-state.ts';
import { newTab, showTab } from '../show-tab.ts';
import { CommandIDs, IRunSources } from '../tokens.ts';
import { filledOf } from './form-model.ts';
import { FormView } from './form-view.tsx';
import './forms.css';
import { trans } from '../../views/translation.ts';

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
            const content = ReactWidget.create(
              <UseSignal signal={tracker.currentChanged}>
                {() => <FormView {...{ app, tracker, sources, kind, kept, filled }} />}
              </UseSignal>
            );
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
