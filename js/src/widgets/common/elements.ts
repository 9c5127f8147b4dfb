/** Elements of a page that are created and updated by hand: around frames, and in small widgets. */

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
export function setTextOrHide(node: HTMLElement, text: string, shown: HTMLElement = node): void {
  if (node.textContent !== text) node.textContent = text; // a selection in it is kept
  shown.hidden = text === '';
}

export function setPressed(node: HTMLElement, pressed: boolean): void {
  node.setAttribute('aria-pressed', String(pressed));
}

/** A small square in the colour of a run or lane. */
export function swatch(parent: Node, color: string): void {
  element('i', 'mosaic-swatch', parent).style.setProperty('--mosaic-color', color);
}
