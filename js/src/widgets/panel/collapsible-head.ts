/** The head of a collapsible part of a panel; the kernel creates the widget below it when it is expanded. */

import { collapsible, followOpened } from '../common/collapsible.ts';
import { element, setText } from '../common/elements.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { CollapsibleTraits } from '../messages.ts';

function render({ model, el }: RenderContext<CollapsibleTraits>): void {
  el.classList.add('mosaic-collapsible');
  const line = collapsible(el, model.get('title'));
  followOpened(line.el, model);
  const text = element('code', '', line.summary);
  const draw = () => setText(text, model.get('text'));
  onChange(model, ['text'], draw);
  draw();
}

export default { render };
