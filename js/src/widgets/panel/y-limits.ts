/** Two fields for the limits of a chart's y axis; an empty limit follows the data. */

import { limitsProblem, problemText, typedNumber } from '../../views/charts/ranges.ts';
import { english } from '../../views/translation.ts';
import { element } from '../common/elements.ts';
import { type Model, onChange } from '../host/anywidget.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { ControlsTraits } from '../messages.ts';

const LIMITS = [
  ['low', 'min', 'Lower limit of the y axis'],
  ['high', 'max', 'Upper limit of the y axis']
] as const;

/** Invalid limits are not sent; the error is shown beside them. */
export function yLimits(model: Model<ControlsTraits>, parent: Node): void {
  const box = element('span', 'mosaic-limits', parent, 'y');
  const inputs = LIMITS.map(([, hint, label]) => {
    const input = element('input', '', box);
    input.inputMode = 'decimal';
    input.placeholder = hint;
    input.title = label;
    input.setAttribute('aria-label', label);
    input.onblur = () => finish();
    input.onkeydown = event => {
      if (event.key === 'Enter') finish(); // in a notebook, no change event follows
    };
    suppressShortcuts(input);
    return input;
  });
  const problem = element('span', 'mosaic-limits-problem', box);
  problem.role = 'alert';
  const finish = () => {
    const [low, high] = inputs.map(({ value }) => typedNumber(value));
    const wrong = limitsProblem(low, high, model.get('log_axis') ? 'log' : 'linear');
    problem.textContent = wrong ? problemText(wrong, 'min', 'max', english) : '';
    for (const input of inputs) input.ariaInvalid = String(wrong !== null);
    if (wrong || low === undefined || high === undefined) return;
    if (low === model.get('low') && high === model.get('high')) return;
    model.set({ low, high });
    model.save_changes();
  };
  const show = () => {
    problem.textContent = '';
    LIMITS.forEach(([name], i) => {
      const [value, input] = [model.get(name), inputs[i] as HTMLInputElement];
      input.ariaInvalid = 'false';
      if (document.activeElement !== input) input.value = value === null ? '' : String(value);
    });
  };
  onChange(model, ['low', 'high', 'resets'], show);
  onChange(model, ['log_axis'], finish);
  show();
}
