import type { ReactNode } from 'react';
import { trans } from '../translation.ts';
import { resultTitle } from './run-table.tsx';

/** The selection of a view's result. */
export function ResultChoice(props: {
  readonly resultNames: readonly string[];
  readonly result: string;
  readonly set: (result: string) => void;
}): ReactNode {
  const { resultNames, result, set } = props;
  return (
    <label className="mosaic-field">
      <span>{trans.__('Result')}</span>
      <select className="mosaic-input" value={result} onChange={event => set(event.target.value)}>
        {[...new Set([result, ...resultNames])].map(name => (
          <option key={name} value={name}>
            {resultTitle(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
