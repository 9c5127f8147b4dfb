/** Two fields for the limits of an axis; an empty limit follows the data. */

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { type Limits, limitsProblem, problemText, typedNumber } from './charts/ranges.ts';

interface TypedRangeProps {
  readonly limits: Limits;
  readonly name: string;
  /** Short names of the two limits, such as "min" and "max". */
  readonly hints: readonly [string, string];
  /** Their full names; by default, those of the range and the limit. */
  readonly labels?: readonly [string, string];
  /** The axis' scale; null if the limits belong to a filter. */
  readonly scale: 'linear' | 'log' | null;
  readonly onChange: (limits: Limits) => void;
}

/** Invalid limits are not passed on; the error is shown beside the fields. */
export function TypedRange({ limits, name, hints, labels, scale, onChange }: TypedRangeProps): ReactNode {
  const [texts, setTexts] = useState(() => limits.map(shownText));
  const [problem, setProblem] = useState('');
  const isTyping = useRef(false);
  const id = useId();
  const finish = () => {
    isTyping.current = false;
    const typed = texts.map(typedNumber);
    const wrong = limitsProblem(typed[0], typed[1], scale);
    setProblem(wrong ? problemText(wrong, ...hints) : '');
    const [low = null, high = null] = typed.map((value, i) =>
      [shownText, exactText].some(text => text(limits[i] ?? null) === texts[i]) ? limits[i] : value
    );
    if (!wrong && (low !== limits[0] || high !== limits[1])) onChange([low, high]);
  };
  useEffect(() => {
    if (isTyping.current) return;
    // A typed limit is shown exactly; one of a zoom has too many digits.
    setTexts(
      limits.map((limit, end) => (typedNumber(texts[end] ?? '') === limit ? exactText : shownText)(limit))
    );
    setProblem('');
  }, [limits[0], limits[1]]);
  useEffect(finish, [scale]);
  const field = (end: 0 | 1) => {
    const label = labels?.[end] ?? `${name}: ${hints[end]}`;
    return (
      <input
        className="mosaic-input"
        inputMode="decimal"
        aria-label={label}
        aria-invalid={problem !== ''}
        aria-describedby={problem ? id : undefined}
        title={problem || [label, limits[end]].filter(part => part !== null).join(': ')}
        placeholder={hints[end]}
        value={texts[end]}
        onChange={event => {
          isTyping.current = true;
          setTexts(texts.with(end, event.currentTarget.value));
          setProblem('');
        }}
        onBlur={finish}
        onKeyDown={event => event.key === 'Enter' && finish()}
        data-lm-suppress-shortcuts="true"
      />
    );
  };
  return (
    <fieldset className="mosaic-range">
      <legend className="mosaic-unseen">{name}</legend>
      {field(0)}
      <span aria-hidden="true">–</span>
      {field(1)}
      <span id={id} className="mosaic-range-problem" role="alert">
        {problem}
      </span>
    </fieldset>
  );
}

function exactText(limit: number | null): string {
  return limit === null ? '' : String(limit);
}

/** A limit with as many digits as its field has place for. */
function shownText(limit: number | null): string {
  return exactText(limit && Number(limit.toPrecision(5)));
}
