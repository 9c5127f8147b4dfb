/** A run's name where there is little room: words that the names around it have, too, are cut off first, its seed never. */

import './run-name.css';
import { createContext, useContext } from 'react';

import { type NamePart, nameParts } from '../../shared/names.ts';

/** The words that the names in view have in common. */
export const WordsAlike = createContext<ReadonlySet<string>>(new Set());

/** The parts are drawn by the style sheet: the name itself, to copy, search and read aloud, is one text over them. */
export function RunName({ name }: { readonly name: string }) {
  const parts = nameParts(name, useContext(WordsAlike));
  return (
    <span className="mosaic-run-name">
      {parts.map(({ text, kind }, place) => (
        <span
          key={place}
          className={`mosaic-mod-${kind}`}
          style={{ minWidth: `${least(text, kind)}ch` }}
          data-text={text}
          aria-hidden="true"
        />
      ))}
      <span className="mosaic-mod-whole">{name}</span>
    </span>
  );
}

/** So many letters are always seen: of " ppo" all. */
function least(text: string, kind: NamePart['kind']): number {
  return Math.min(text.length, kind === 'alike' ? 2 : 4);
}
