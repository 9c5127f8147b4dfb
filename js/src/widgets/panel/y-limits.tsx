/** Two fields for the limits of a chart's y axis; an empty limit follows the data. */

import { useEffect, useRef, useState } from 'react';
import { limitsProblem, problemText, typedNumber } from '../../views/charts/ranges.ts';
import { OWN_KEYS } from '../common/parts.tsx';
import { type Model, onChange } from '../host/anywidget.ts';
import type { ControlsTraits } from '../messages.ts';

const LIMITS = [
  { name: 'low', hint: 'min', label: 'Lower limit of the y axis' },
  { name: 'high', hint: 'max', label: 'Upper limit of the y axis' }
] as const;

/** Invalid limits are not sent; the error is shown beside them. */
export function YLimits({ model }: { model: Model<ControlsTraits> }) {
  const box = useRef<HTMLSpanElement>(null);
  const [problem, setProblem] = useState('');
  const inputs = () => [...(box.current?.querySelectorAll('input') ?? [])];
  const finish = () => {
    const [low, high] = inputs().map(({ value }) => typedNumber(value));
    const wrong = limitsProblem(low, high, model.get('log_axis') ? 'log' : 'linear');
    setProblem(wrong ? problemText(wrong, 'min', 'max') : '');
    if (wrong || low === undefined || high === undefined) return;
    if (low === model.get('low') && high === model.get('high')) return;
    model.set({ low, high });
    model.save_changes();
  };
  useEffect(() => {
    const show = () => {
      setProblem('');
      inputs().forEach((input, i) => {
        const value = model.get(LIMITS[i]?.name ?? 'low');
        if (document.activeElement !== input) input.value = value === null ? '' : String(value);
      });
    };
    onChange(model, ['low', 'high', 'resets'], show);
    onChange(model, ['log_axis'], finish);
    show();
    return () => {
      for (const name of ['low', 'high', 'resets'] as const) model.off(`change:${name}`, show);
      model.off('change:log_axis', finish);
    };
  }, [model]);
  return (
    <span className="mosaic-limits" ref={box}>
      y
      {LIMITS.map(({ name, hint, label }) => (
        <input
          key={name}
          inputMode="decimal"
          placeholder={hint}
          title={label}
          aria-label={label}
          aria-invalid={problem !== ''}
          onBlur={finish}
          onKeyDown={event => event.key === 'Enter' && finish()} // in a notebook, no change event follows
          {...OWN_KEYS}
        />
      ))}
      <span className="mosaic-limits-problem" role="alert">
        {problem}
      </span>
    </span>
  );
}
