/** The legend below a chart's tool bar: a click on an entry hides or shows its line. */

import { Button, Swatch } from '../common/parts.tsx';
import { type Model, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { ControlsTraits } from '../messages.ts';

export function Legend({ model }: { model: Model<ControlsTraits> }) {
  const entries = useTrait(model, 'legend');
  const hidden = useTrait(model, 'hidden');
  const waiting = useTrait(model, 'waiting');
  const smoothed = useTrait(model, 'smoothing') > 0;
  const averaged = useTrait(model, 'interval');
  const toggle = (key: string) => {
    const others = hidden.filter(other => other !== key);
    send(model, 'hidden', others.length < hidden.length ? others : [...hidden, key]);
  };
  return (
    <>
      <div className="mosaic-legend">
        {entries.map(({ key, label, color, value, state }) => (
          <Button
            key={key}
            className="mosaic-legend-item"
            title={`${hidden.includes(key) ? 'Show' : 'Hide'} ${label}`}
            aria-pressed={!hidden.includes(key)}
            onClick={() => toggle(key)}
          >
            <Swatch color={color} />
            <span className="mosaic-legend-label">{label}</span>
            <b className="mosaic-value">{value}</b>
            <span className={`mosaic-chip mosaic-${state}`} hidden={state === ''}>
              {state}
            </span>
          </Button>
        ))}
      </div>
      <span className="mosaic-waiting">{waiting}</span>
      <span className="mosaic-legend-kind" hidden={entries.length === 0}>
        {`last values, ${smoothed ? 'smoothed' : averaged ? 'averages' : 'raw'}`}
      </span>
    </>
  );
}
