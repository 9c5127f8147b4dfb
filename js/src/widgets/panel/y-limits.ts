/** Two fields for the limits of a chart's y axis; an empty one is as far as there are data. */

import { typedNumber } from '../../views/charts/ranges.ts';
import { element } from '../common/elements.ts';
import { type Model, send } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { ControlsTraits } from '../messages.ts';

const LIMITS = [
  ['low', 'min', 'Where the y axis begins'],
  ['high', 'max', 'Where the y axis ends']
] as const;

/** Returns what shows the limits that the model has. */
export function yLimits(model: Model<ControlsTraits>, parent: Node): () => void {
  const box = element('span', 'mosaic-limits', parent, 'y');
  const shows = LIMITS.map(([name, hint, label]) => {
    const input = element('input', '', box);
    input.inputMode = 'decimal';
    input.placeholder = hint;
    input.title = label;
    input.setAttribute('aria-label', label);
    input.oninput = () => {
      input.ariaInvalid = String(typedNumber(input.value) === undefined);
    };
    const finish = () => {
      const value = typedNumber(input.value);
      if (value !== undefined && value !== model.get(name)) send(model, name, value);
    };
    input.onblur = finish;
    input.onkeydown = event => {
      if (event.key === 'Enter') finish(); // in a notebook, no change event follows
    };
    suppressShortcuts(input);
    return () => {
      const value = model.get(name);
      if (document.activeElement !== input) input.value = value === null ? '' : String(value);
    };
  });
  return () => {
    for (const show of shows) show();
  };
}
