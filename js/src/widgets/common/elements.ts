/** Elements of a page, and updates of their text and children in place. */

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

/** Set the text only if it differs, so that a selection in it is kept. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Set the text of a node and show it; hide it if the text is empty. */
export function setTextOrHide(node: HTMLElement, text: string, shown: HTMLElement = node): void {
  setText(node, text);
  shown.hidden = text === '';
}

export function setColor(node: HTMLElement, color: string): void {
  node.style.setProperty('--mosaic-color', color);
}

export function setPressed(node: HTMLElement, pressed: boolean): void {
  node.setAttribute('aria-pressed', String(pressed));
}

/** A small square in the colour of a run or lane. */
export function swatch(parent: Node | null, color = ''): HTMLElement {
  const node = element('i', 'mosaic-swatch', parent);
  if (color) setColor(node, color);
  return node;
}

const keys = new WeakMap<Element, { key: string; item: unknown }>();

/**
 * Keep one child of `parent` for each entry, in order: `make` creates it for a new key, `draw` updates it.
 * Children remain the same nodes, so that a click is not lost during an update.
 */
export function drawEach<Entry, Item extends { el: Element }>(
  parent: Element,
  entries: readonly Entry[],
  keyOf: (entry: Entry, place: number) => string,
  make: (entry: Entry) => Item,
  draw: (item: Item, entry: Entry, place: number) => void = () => {}
): Item[] {
  const old = new Map<string, Item>();
  for (const child of parent.children) {
    const known = keys.get(child);
    if (known) old.set(known.key, known.item as Item);
  }
  const items = entries.map((entry, place) => {
    const key = keyOf(entry, place);
    const item = old.get(key) ?? make(entry);
    keys.set(item.el, { key, item });
    return item;
  });
  if (items.length !== parent.children.length || items.some((item, i) => item.el !== parent.children[i])) {
    parent.replaceChildren(...items.map(item => item.el));
  }
  entries.forEach((entry, place) => {
    draw(items[place] as Item, entry, place);
  });
  return items;
}

/** The key of entries that have only a position. */
export function place(_entry: unknown, index: number): string {
  return String(index);
}

/** An element without parts of its own, for `drawEach`. */
export function plain<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = '',
  text = ''
): { el: HTMLElementTagNameMap[Tag] } {
  return { el: element(tag, className, null, text) };
}

/** Change the content of `node`; if its end was visible, scroll to the new end. */
export function keepAtEnd(node: HTMLElement, change: () => void): void {
  const atEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 4;
  change();
  if (atEnd) node.scrollTop = node.scrollHeight;
}
