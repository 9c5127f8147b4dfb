/** A line that expands its content below it. */

import { type Model, onChange, send } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import { element, setText } from './elements.ts';

export interface Collapsible {
  el: HTMLDetailsElement;
  /** The line; other children of `el` are collapsible. */
  summary: HTMLElement;
}

export function collapsible(parent: Node, title: string, className = ''): Collapsible {
  const el = element('details', `mosaic-log ${className}`.trim(), parent);
  const summary = element('summary', '', el);
  element('span', 'mosaic-log-name', summary, title);
  suppressShortcuts(summary);
  return { el, summary };
}

/** A collapsible text, which shows its last line while collapsed. Hidden without text. */
export function collapsibleText(parent: Node, title: string, className = ''): (text: string) => void {
  const { el, summary } = collapsible(parent, title, className);
  const last = element('code', '', summary);
  const whole = element('pre', '', el);
  return text => {
    el.hidden = text === '';
    setText(last, text.slice(text.lastIndexOf('\n') + 1));
    setText(whole, text);
  };
}

/** Synchronise `el` with the trait `opened`. Returns a function that ends this. */
export function followOpened<Traits extends { opened: boolean }>(
  el: HTMLDetailsElement,
  model: Model<Traits>
): () => void {
  const follow = () => {
    el.open = model.get('opened');
  };
  const toggle = () => {
    if (el.open !== model.get('opened')) send(model, 'opened', el.open);
  };
  follow();
  el.addEventListener('toggle', toggle);
  onChange(model, ['opened'], follow);
  return () => {
    el.removeEventListener('toggle', toggle);
    model.off('change:opened', follow);
  };
}
