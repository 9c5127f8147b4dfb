/** What the panel asks its user. Names of runs enter the page as text only. */

import { Dialog, InputDialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { nameOf, type Target } from './targets.ts';

const MOST_NAMED = 8;

/** A new name, or null; an empty one is the default name again. */
export async function newName(target: Target, trans: TranslationBundle): Promise<string | null> {
  const { button, value } = await InputDialog.getText({
    title: trans.__('Rename run'),
    label: trans.__('Name (empty: the default one)'),
    text: nameOf(target),
    okLabel: trans.__('Rename')
  });
  return button.accept ? (value ?? '').trim() : null;
}

/** Tags, or null: of one run all that it is to have, of several those to add. */
export async function newTags(
  targets: readonly Target[],
  trans: TranslationBundle
): Promise<string[] | null> {
  const [only] = targets.length === 1 ? targets : [];
  const { button, value } = await InputDialog.getText({
    title: only ? trans.__('Tags') : trans.__('Add tags to %1 runs', targets.length),
    label: trans.__('Separated by commas'),
    text: only?.row?.tags.join(', ') ?? '',
    okLabel: trans.__('Save')
  });
  if (!button.accept) {
    return null;
  }
  const tags = (value ?? '').split(',').map(tag => tag.trim());
  return [...new Set(tags.filter(Boolean))];
}

/** Notes of any number of lines, or null. */
export async function newNotes(target: Target, trans: TranslationBundle): Promise<string | null> {
  const body = new NotesBody(trans.__('Notes on %1', nameOf(target)), target.row?.notes ?? '');
  const { button } = await showDialog({
    title: trans.__('Notes'),
    body,
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Save') })],
    focusNodeSelector: 'textarea'
  });
  return button.accept ? body.getValue() : null;
}

/** Whether to remove runs, and with them the `trials` that the sweeps among them have. */
export async function confirmRemoval(
  targets: readonly Target[],
  trials: number,
  trans: TranslationBundle
): Promise<{ readonly accepted: boolean; readonly trials: boolean }> {
  const node = document.createElement('div');
  const about = document.createElement('p');
  about.textContent = trans._n(
    'This deletes the folder of a run with its metrics, checkpoints and films:',
    'This deletes the folders of %1 runs with their metrics, checkpoints and films:',
    targets.length
  );
  const list = document.createElement('ul');
  const names = targets.slice(0, MOST_NAMED).map(nameOf);
  const more = targets.length - names.length;
  for (const name of more ? [...names, trans.__('and %1 more', more)] : names) {
    const item = document.createElement('li');
    item.textContent = name;
    list.append(item);
  }
  node.append(about, list);
  const { button, isChecked } = await showDialog({
    title: trans._n('Remove a run?', 'Remove %1 runs?', targets.length),
    body: new Widget({ node }),
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Remove') })],
    checkbox: trials
      ? { label: trans._n('and its %1 trial', 'and its %1 trials', trials), checked: true }
      : null,
    defaultButton: 0
  });
  return { accepted: button.accept, trials: isChecked === true };
}

class NotesBody extends Widget {
  constructor(label: string, text: string) {
    super({ node: document.createElement('label') });
    const caption = document.createElement('span');
    caption.textContent = label;
    this._area = document.createElement('textarea');
    this._area.value = text;
    this._area.rows = 10;
    this._area.cols = 60;
    this._area.className = 'jp-mod-styled mosaic-runs-notes';
    this.node.append(caption, this._area);
    // Enter makes a new line here, where it would close the dialog elsewhere.
    this._area.addEventListener('keydown', event => {
      if (event.key === 'Enter') {
        event.stopPropagation();
      }
    });
  }

  getValue(): string {
    return this._area.value;
  }

  private readonly _area: HTMLTextAreaElement;
}
