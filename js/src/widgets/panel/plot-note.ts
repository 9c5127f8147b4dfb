/** The line above the figures of a plot: its title, how to read it, and the meaning of its colours. */

import '../common/cell.css';
import './panel.css';
import { element, swatch } from '../common/elements.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { PlotNoteTraits } from '../messages.ts';

function render({ model, el }: RenderContext<PlotNoteTraits>): void {
  el.classList.add('mosaic-plot-note');
  const head = element('div', '', el);
  const title = element('b', '', head);
  const note = element('span', '', head);
  const legend = element('div', 'mosaic-legend', el);
  const output = element('output', '', el);
  const draw = () => {
    const entries = model.get('legend');
    legend.hidden = entries.length === 0;
    legend.replaceChildren(
      ...entries.map(({ label, color }) => {
        const item = element('span', 'mosaic-legend-item');
        swatch(item, color);
        element('span', 'mosaic-legend-label', item, label);
        return item;
      })
    );
    title.textContent = model.get('title');
    note.textContent = ` · ${model.get('note')}`;
    const [level, text] = model.get('said');
    output.className = `mosaic-notice mosaic-${level}`;
    output.hidden = text === '';
    output.textContent = text;
  };
  onChange(model, ['legend', 'title', 'note', 'said'], draw);
  draw();
}

export default { render };
