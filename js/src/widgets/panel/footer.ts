/**
 * The bottom of a panel: notices about the run's health, and the tail of its log. A collapsed log sends only
 * its last line.
 */

import { collapsible, followOpened } from '../common/collapsible.ts';
import { element, keepAtEnd } from '../common/elements.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { FooterTraits } from '../messages.ts';

function render({ model, el }: RenderContext<FooterTraits>): void {
  el.classList.add('mosaic-footer');
  const notices = element('div', 'mosaic-notices', el);
  const log = collapsible(el, 'Log');
  const last = element('code', '', log.summary);
  const text = element('pre', '', log.el);

  const drawNotices = () => {
    notices.replaceChildren(
      ...model.get('notices').map(({ level, text }) => {
        return element('div', `mosaic-notice mosaic-${level}`, null, text);
      })
    );
  };
  const drawLog = () => {
    const lines = model.get('lines');
    last.textContent = lines.at(-1) ?? '';
    keepAtEnd(text, () => {
      text.textContent = lines.join('\n') || 'nothing written yet';
    });
    log.el.hidden = !model.get('has_log');
  };
  followOpened(log.el, model);
  onChange(model, ['notices'], drawNotices);
  onChange(model, ['lines'], drawLog);
  drawNotices();
  drawLog();
}

export default { render };
