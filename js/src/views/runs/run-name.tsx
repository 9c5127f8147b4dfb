/**
 * A run's name in limited space: words shared with the names around it are truncated first, its seed never.
 */

import './run-name.css';
import { createContext, useContext } from 'react';

import { type NamePart, nameParts } from '../../shared/names.ts';

/** The words shared by the visible names. */
export const WordsAlike = createContext<ReadonlySet<string>>(new Set());

/**
 * The parts are drawn by the style sheet. The name itself, to copy, search and read aloud, is one text above
 * them.
 */
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

/** This many letters are always visible: of " ppo" all. */
function least(text: string, kind: NamePart['kind']): number {
  return Math.min(text.length, kind === 'alike' ? 2 : 4);
}
