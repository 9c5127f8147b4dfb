/** Elements of a page that are created and updated by hand: around frames, and in small widgets. */

import { suppressShortcuts } from '../host/kernel.ts';

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  parent: Node | null = null,
  text = ''
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  parent?.appendChild(node);
  return node;
}

/** Set the text of a node and show it; hide it if the text is empty. */
export function setTextOrHide(node: HTMLElement, text: string, hidden: HTMLElement = node): void {
  if (node.textContent !== text) node.textContent = text; // a selection in it is kept
  hidden.hidden = text === '';
}

export function setPressed(node: HTMLElement, pressed: boolean): void {
  node.setAttribute('aria-pressed', String(pressed));
}

/** A small square in the colour of a run or lane. */
export function swatch(parent: Node, color: string): void {
  element('i', 'mosaic-swatch', parent).style.setProperty('--mosaic-color', color);
}

export const ICONS = {
  camera: 'M2 5h2.5L6 3h4l1.5 2H14v8H2zM8 11a2.3 2.3 0 1 0 0-4.6A2.3 2.3 0 0 0 8 11',
  pan: 'M8 1.5v13M1.5 8h13M6 3.5 8 1.5l2 2M6 12.5l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M4.5 3l8 5-8 5z',
  record: 'M8 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10M8 9.4a1.4 1.4 0 1 0 0-2.8 1.4 1.4 0 0 0 0 2.8',
  reset: 'M2 6V2.5h3.5M14 6V2.5h-3.5M2 10v3.5h3.5M14 10v3.5h-3.5',
  save: 'M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11'
};

export function button(
  parent: Node | null,
  label: string,
  hint: string,
  onClick: () => void,
  className = 'mosaic-button'
): HTMLButtonElement {
  const node = element('button', className, parent, label);
  node.type = 'button';
  node.title = hint;
  node.onclick = onClick;
  return node;
}

/** Put an icon in a 16 × 16 square before the text of `node`. */
export function addIcon(node: Element, icon: keyof typeof ICONS): void {
  node.insertAdjacentHTML(
    'afterbegin',
    `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`
  );
}

export interface Choice<Value> {
  value: Value;
  text: string;
  hint: string;
}

/** Buttons of which one is pressed. Returns a function that presses the one with a value, or none. */
export function segmented<Value>(
  parent: Node,
  label: string,
  choices: readonly Choice<Value>[],
  choose: (value: Value) => void
): (pressed: Value | null) => void {
  const group = element('span', 'mosaic-segments', parent);
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', label);
  const nodes = choices.map(({ value, text, hint }) => button(group, text, hint, () => choose(value), ''));
  return pressed => {
    choices.forEach(({ value }, i) => {
      setPressed(nodes[i] as HTMLElement, value === pressed);
    });
  };
}

/** A selection, initially without options. */
export function select(
  parent: Node,
  label: string,
  choose: (value: string) => void,
  className = 'mosaic-button'
): HTMLSelectElement {
  const node = element('select', className, parent);
  node.setAttribute('aria-label', label);
  node.onchange = () => choose(node.value);
  suppressShortcuts(node);
  return node;
}

export function option(parent: Node | null, value: string, text: string): HTMLOptionElement {
  const node = element('option', '', parent, text);
  node.value = value;
  return node;
}

/** Close a `<details>` menu on a click elsewhere or on Escape. Returns a function that ends this. */
export function closeOnOutsideClick(menu: HTMLDetailsElement): () => void {
  const close = (event: Event) => {
    const closes =
      event instanceof KeyboardEvent ? event.key === 'Escape' : !menu.contains(event.target as Node);
    if (closes) menu.open = false;
  };
  for (const name of ['pointerdown', 'keydown']) document.addEventListener(name, close);
  return () => {
    for (const name of ['pointerdown', 'keydown']) document.removeEventListener(name, close);
  };
}
