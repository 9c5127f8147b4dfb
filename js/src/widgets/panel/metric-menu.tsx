/** The menu of a chart's metrics: one or several. */

import { useEffect, useRef } from 'react';
import { closeOnOutsideClick } from '../common/buttons.ts';
import { type Model, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { ControlsTraits } from '../messages.ts';
import { choose, grouped } from './metrics.ts';

export function MetricMenu({ model }: { model: Model<ControlsTraits> }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const chosen = useTrait(model, 'chosen');
  const names = useTrait(model, 'names');
  const several = model.get('several');
  const full = several && chosen.length >= model.get('most');
  const [first = 'metric', ...more] = chosen;
  useEffect(() => (menu.current ? closeOnOutsideClick(menu.current) : undefined), []);
  const change = (name: string, box: HTMLInputElement) => {
    const now = choose(chosen, name, box.checked, several);
    if (menu.current && !several) menu.current.open = false;
    box.checked = now.includes(name); // the last one cannot be switched off
    send(model, 'chosen', now);
  };
  return (
    <details className="mosaic-menu" ref={menu}>
      <summary className="mosaic-button" title="Choose what the chart shows">
        {more.length ? `${first} + ${more.length}` : first}
      </summary>
      <div className="mosaic-menu-list">
        {grouped(names, model.get('common')).map(({ heading, names }) => [
          heading && (
            <div key={`\n${heading}`} className="mosaic-menu-heading">
              {heading}
            </div>
          ),
          ...names.map(name => (
            <label key={name} className="mosaic-menu-row">
              <input
                type={several ? 'checkbox' : 'radio'}
                checked={chosen.includes(name)}
                disabled={full && !chosen.includes(name)}
                onChange={event => change(name, event.currentTarget)}
              />
              {name}
            </label>
          ))
        ])}
      </div>
    </details>
  );
}
