/** Two fields for the limits of an axis; an empty limit follows the data. */

import { type ReactNode, useEffect, useId, useState } from 'react';
import { type Limits, limitsProblem, problemText, typedNumber } from '../charts/ranges.ts';

interface TypedRangeProps {
  readonly limits: Limits;
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** The axis' scale; null if the limits belong to a filter. */
  readonly scale: 'linear' | 'log' | null;
  readonly onChange: (limits: Limits) => void;
}

/** Invalid limits are not passed on; the error is shown beside the fields. */
export function TypedRange(props: TypedRangeProps): ReactNode {
  const { limits, name, from, to, scale, onChange } = props;
  const [texts, setTexts] = useState(['', '']);
  const [problem, setProblem] = useState('');
  const id = useId();
  useEffect(() => {
    setTexts(limits.map(value => (value === null ? '' : String(rounded(value)))));
    setProblem('');
  }, [limits[0], limits[1]]);
  const finish = () => {
    const typed = texts.map(typedNumber);
    const wrong = limitsProblem(typed[0], typed[1], scale);
    setProblem(wrong ? problemText(wrong, from, to) : '');
    const [low = null, high = null] = typed.map((value, i) =>
      value === rounded(limits[i] ?? null) ? limits[i] : value
    );
    if (!wrong && (low !== limits[0] || high !== limits[1])) onChange([low, high]);
  };
  const field = (end: 0 | 1, hint: string) => (
    <input
      className="mosaic-input"
      inputMode="decimal"
      aria-label={`${name}: ${hint}`}
      aria-invalid={problem !== ''}
      aria-describedby={problem ? id : undefined}
      title={problem || `${name}: ${hint}`}
      placeholder={hint}
      value={texts[end]}
      onChange={event => {
        setTexts(texts.with(end, event.target.value));
        setProblem('');
      }}
      onBlur={finish}
      onKeyDown={event => event.key === 'Enter' && finish()}
    />
  );
  return (
    <fieldset className="mosaic-range">
      <legend className="mosaic-unseen">{name}</legend>
      {field(0, from)}
      <span aria-hidden="true">–</span>
      {field(1, to)}
      {problem && (
        <span id={id} className="mosaic-range-problem" role="alert">
          {problem}
        </span>
      )}
    </fieldset>
  );
}

/** A limit as displayed in its field. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(5));
}
