/** Dialogs for widgets, which cannot use JupyterLab's: questions to the user before runs are changed. */

import './cell-dialogs.css';
import type { Confirmation, RunDialogs, TextQuestion } from '../../views/runs/run-questions.ts';
import { button, element } from '../common/elements.ts';
import { suppressShortcuts } from '../host/kernel.ts';

const ACCEPTED = 'accepted';
const NOTICE_MS = 2000;

/** They are outside their cell, where JupyterLab would capture the Enter key. */
export const cellDialogs: RunDialogs = {
  async text({ title, label, text, accept, long }: TextQuestion): Promise<string | null> {
    const field = element('label', '', null, label);
    const input = element(long ? 'textarea' : 'input', '', field);
    input.value = text;
    input.autofocus = true;
    input.addEventListener('focus', () => input.select(), { once: true });
    return (await accepted(title, [field], accept)) ? input.value : null;
  },

  async confirm({ title, about, names, warning, accept, choice }: Confirmation) {
    const list = element('ul', '');
    for (const name of names) element('li', '', list, name);
    const box = element('input', '');
    box.type = 'checkbox';
    box.checked = true;
    const field = element('label', 'mosaic-dialog-choice');
    field.append(box, choice);
    const body = [
      element('p', '', null, about),
      list,
      ...(warning ? [element('p', '', null, warning)] : []),
      ...(choice ? [field] : [])
    ];
    const isAccepted = await accepted(title, body, accept, 'mosaic-mod-warn');
    return { accepted: isAccepted, checked: choice !== '' && box.checked };
  },

  notify(text: string) {
    const notice = element('output', 'mosaic-dialog-notice', document.body, text);
    setTimeout(() => notice.remove(), NOTICE_MS);
  }
};

/** Show a dialog until it is closed. Enter accepts in a line of text, Escape cancels. */
function accepted(
  title: string,
  body: readonly Node[],
  accept: string,
  look = 'mosaic-mod-accept'
): Promise<boolean> {
  const dialog = element('dialog', 'mosaic-dialog', document.body);
  suppressShortcuts(dialog);
  dialog.setAttribute('aria-label', title);
  const form = element('form', '', dialog);
  form.method = 'dialog';
  form.append(element('h2', '', null, title), ...body);
  const buttons = element('div', 'mosaic-dialog-buttons', form);
  button(buttons, 'Cancel', '', () => dialog.close());
  const submit = element('button', look, buttons, accept);
  submit.value = ACCEPTED;
  dialog.showModal();
  return new Promise(resolve => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === ACCEPTED);
    });
  });
}
