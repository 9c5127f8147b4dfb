/** Tooltips of disabled menu items: Lumino's menus show no captions. */

import type { Menu } from '@lumino/widgets';

/** Show in an open menu why its items are disabled, as their commands' captions say. */
export function explainDisabled(menu: Pick<Menu, 'items' | 'contentNode'>): void {
  menu.items.forEach(({ isEnabled, caption }, place) => {
    const node = menu.contentNode.children[place];
    if (node && !isEnabled && caption) {
      node.setAttribute('title', caption);
    }
  });
}
