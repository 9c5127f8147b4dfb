/** A run's name in limited space: words shared with the names around it are truncated first, its seed last. */

import './run-name.css';
import { createContext, useContext } from 'react';

import { isShortEnd, type NamePart, truncatedParts } from '../../shared/names.ts';

/** An end of at most this many letters is not truncated: an ellipsis takes as much space. */
const SPARE = 2;

/** The words shared by the visible names. */
export const WordsAlike = createContext<ReadonlySet<string>>(new Set());

/** The style sheet draws the parts; the name itself, to copy, search and read aloud, is invisible text above them. */
export function RunName({ name }: { readonly name: string }) {
  const parts = truncatedParts(name, useContext(WordsAlike));
  const begins = parts.some(isShortEnd) ? 1e3 : 0;
  return (
    <span className="mosaic-run-name">
      {parts.flatMap(({ text, kind }, index) =>
        beginning(text, kind).map((part, end) => (
          <span
            key={`${index} ${end}`}
            className={`mosaic-mod-${end ? kind : 'beginning'}`}
            style={{ flexShrink: end === 0 && kind !== 'end' ? begins : shrinkage(kind, index) }}
            data-text={part}
            aria-hidden="true"
          />
        ))
      )}
      <span className="mosaic-mod-whole">{name}</span>
    </span>
  );
}

/** How a part is truncated compared to others: in practice only after all parts with a larger factor. */
function shrinkage(kind: NamePart['kind'], index: number): number {
  if (kind === 'end') return 1;
  return kind === 'alike' ? 1e24 : 1e6 * 1000 ** Math.min(index, 4);
}

/**
 * The beginning of a part, which is truncated only for a short end of the name, and the rest, which is truncated
 * of shared words first, then from the last word to the first, so that a name is cut in one place as long as
 * possible.
 */
function beginning(text: string, kind: NamePart['kind']): string[] {
  const minimum = kind === 'alike' ? 0 : 4;
  const isShort = kind === 'end' || text.length <= minimum + SPARE;
  return isShort ? [text] : [text.slice(0, minimum), text.slice(minimum)];
}
