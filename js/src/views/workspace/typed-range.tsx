/** Two fields for the limits of an axis; empty ones are found by the data. */

import { type ReactNode, useEffect, useState } from 'react';
import { type Limits, typedNumber } from '../charts/ranges.ts';

interface TypedRangeProps {
  readonly limits: Limits;
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly onChange: (limits: Limits) => void;
}

export function TypedRange({ limits, name, from, to, onChange }: TypedRangeProps): ReactNode {
  return (
    <fieldset className="mosaic-range">
      <legend className="mosaic-unseen">{name}</legend>
      <NumberField
        value={limits[0]}
        name={`${name}: ${from}`}
        hint={from}
        set={low => onChange([low, limits[1]])}
      />
      <span aria-hidden="true">–</span>
      <NumberField
        value={limits[1]}
        name={`${name}: ${to}`}
        hint={to}
        set={high => onChange([limits[0], high])}
      />
    </fieldset>
  );
}

function NumberField(props: {
  readonly value: number | null;
  readonly name: string;
  readonly hint: string;
  readonly set: (value: number | null) => void;
}): ReactNode {
  const { value } = props;
  const [text, setText] = useState('');
  useEffect(() => setText(value === null ? '' : String(Number(value.toPrecision(6)))), [value]);
  const typed = typedNumber(text);
  const finish = () => {
    if (typed !== undefined && typed !== (value === null ? null : Number(value.toPrecision(6))))
      props.set(typed);
  };
  return (
    <input
      className="mosaic-input"
      inputMode="decimal"
      aria-label={props.name}
      aria-invalid={typed === undefined}
      title={props.name}
      placeholder={props.hint}
      value={text}
      onChange={event => setText(event.target.value)}
      onBlur={finish}
      onKeyDown={event => event.key === 'Enter' && finish()}
    />
  );
}
