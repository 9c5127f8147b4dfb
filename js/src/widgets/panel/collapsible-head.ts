/** The head of a collapsible part of a panel, whose content is a widget below it that the kernel makes when it is unfolded. */

import { collapsible, followOpened } from '../common/collapsible.ts';
import type { RenderContext } from '../host/anywidget.ts';
import type { CollapsibleTraits } from '../messages.ts';

function render({ model, el }: RenderContext<CollapsibleTraits>): void {
  el.classList.add('mosaic-collapsible');
  followOpened(collapsible(el, model.get('title')).el, model);
}

export default { render };
