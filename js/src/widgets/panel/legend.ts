/** The legend below a chart's tool bar: a click on an entry hides or shows its line. */

import { button } from '../common/buttons.ts';
import { drawEach, element, setColor, setPressed, setTextOrHide, swatch } from '../common/elements.ts';
import { type Model, onChange, send } from '../host/anywidget.ts';
import type { ControlsTraits, LegendEntry } from '../messages.ts';

export function legend(model: Model<ControlsTraits>, parent: Node): void {
  const box = element('div', 'mosaic-legend', parent);
  const waiting = element('span', 'mosaic-waiting', parent);
  const kind = element('span', 'mosaic-legend-kind', parent);
  const makeItem = ({ key }: LegendEntry) => {
    const toggle = () => {
      const hidden = model.get('hidden');
      const others = hidden.filter(other => other !== key);
      send(model, 'hidden', others.length < hidden.length ? others : [...hidden, key]);
    };
    const el = button(null, '', '', toggle, 'mosaic-legend-item');
    return {
      el,
      swatch: swatch(el),
      label: element('span', 'mosaic-legend-label', el),
      value: element('b', 'mosaic-value', el),
      chip: element('span', 'mosaic-chip', el)
    };
  };
  const draw = () => {
    const hidden = model.get('hidden');
    drawEach(
      box,
      model.get('legend'),
      entry => entry.key,
      makeItem,
      (item, entry) => {
        const shown = !hidden.includes(entry.key);
        item.el.title = `${shown ? 'Hide' : 'Show'} ${entry.label}`;
        setPressed(item.el, shown);
        setColor(item.swatch, entry.color);
        item.label.textContent = entry.label;
        item.value.textContent = entry.value;
        item.chip.className = `mosaic-chip mosaic-${entry.state}`;
        setTextOrHide(item.chip, entry.state);
      }
    );
    setTextOrHide(kind, model.get('legend').length ? valuesKind(model) : '');
    waiting.textContent = model.get('waiting');
  };
  onChange(model, ['legend', 'hidden', 'waiting', 'smoothing', 'interval'], draw);
  draw();
}

/** The kind of the values beside the names. */
function valuesKind(model: Model<ControlsTraits>): string {
  const smoothed = model.get('smoothing') > 0 ? 'smoothed' : model.get('interval') ? 'averages' : 'raw';
  return `last values, ${smoothed}`;
}
