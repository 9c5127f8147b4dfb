/** JupyterLab's dialogs for questions to the user before runs are changed. */

import { Dialog, InputDialog, Notification, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import type { Confirmation, RunDialogs, TextQuestion } from '../../views/runs/run-questions.ts';

const NOTICE_MS = 2000;

export const labDialogs: RunDialogs = {
  async text(question: TextQuestion): Promise<string | null> {
    const { title, label, text, accept } = question;
    const { button, value } = question.long
      ? await showDialog({
          title,
          body: new LongText(label, text),
          buttons: [Dialog.cancelButton(), Dialog.okButton({ label: accept })],
          focusNodeSelector: 'textarea'
        })
      : await InputDialog.getText({ title, label, text, okLabel: accept });
    return button.accept ? (value ?? '') : null;
  },

  async confirm({ title, about, names, warning, accept, choice }: Confirmation) {
    const { button, isChecked } = await showDialog({
      title,
      body: (
        <>
          <p>{about}</p>
          <ul>
            {names.map((name, index) => (
              <li key={index}>{name}</li>
            ))}
          </ul>
          {warning && <p>{warning}</p>}
        </>
      ),
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: accept })],
      checkbox: choice ? { label: choice, checked: true } : null,
      defaultButton: 0
    });
    return { accepted: button.accept, checked: isChecked === true };
  },

  notify(text: string) {
    Notification.success(text, { autoClose: NOTICE_MS });
  }
};

class LongText extends Widget {
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
    // Enter starts a new line here; elsewhere it closes the dialog.
    this._area.addEventListener('keydown', event => {
      if (event.key === 'Enter') event.stopPropagation();
    });
  }

  getValue(): string {
    return this._area.value;
  }

  private readonly _area: HTMLTextAreaElement;
}
