/**
 * A chess board of squares over a lane's picture, white at the bottom. A player moves by clicking the piece
 * and its target square, or with arrow keys and Enter.
 */

import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button, OWN_KEYS } from '../common/parts.tsx';
import { FILES, movesFrom, neighbour, pieceName, piecesOf, promotionsOf, targetOf } from './chess.ts';

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1]
};
const RANKS = [8, 7, 6, 5, 4, 3, 2, 1];

interface BoardProps {
  /** The player whose turn it is, or was last. */
  readonly agent: string;
  readonly fen: string;
  /** The legal moves; none between turns. */
  readonly legal: readonly string[];
  readonly closed: boolean;
  /** The number of the kernel's last message, after which a position may be answered again. */
  readonly said: number;
  readonly play: (move: string) => void;
}

export function Board({ agent, fen, legal, closed, said, play }: BoardProps) {
  const el = useRef<HTMLDivElement>(null);
  /** The selected piece's square and, before a promotion, its target. */
  const [choice, choose] = useState<{ fen: string; from: string; to: string | null } | null>(null);
  const [answered, setAnswered] = useState('');
  /** The square reached by Tab; arrow keys continue from it. */
  const [current, setCurrent] = useState('e2');
  const answer = `${fen} ${said}`;
  const moves = answered === answer ? [] : legal;
  const from = choice?.fen === fen && movesFrom(moves, choice.from).length ? choice.from : null;
  const options = movesFrom(moves, from);
  const promotions = from === null ? [] : options.filter(move => targetOf(move) === choice?.to);

  const focus = (selector: string) => {
    el.current?.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
  };
  const focusSquare = (name: string) => focus(`[data-square="${name}"]`);
  const promoting = promotions.length > 0;
  useEffect(() => {
    if (promoting)
      el.current?.querySelector<HTMLElement>('.mosaic-promotion button')?.focus({ preventScroll: true });
  }, [promoting]);

  const playMove = (move: string) => {
    setAnswered(answer);
    choose(null);
    focusSquare(current);
    play(move);
  };
  const click = (name: string) => {
    setCurrent(name);
    const matching = options.filter(move => targetOf(move) === name);
    if (matching.length > 1 && from) choose({ fen, from, to: name });
    else if (matching[0]) playMove(matching[0]);
    else choose(name !== from && movesFrom(moves, name).length ? { fen, from: name, to: null } : null);
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.key === 'Tab') return;
    event.stopPropagation();
    if (event.key === 'Escape') {
      if (from === null) (document.activeElement as HTMLElement | null)?.blur();
      choose(null);
    }
    const arrow = ARROWS[event.key];
    if (!arrow || promoting) return;
    event.preventDefault();
    focusSquare(neighbour(current, arrow) ?? current);
  };

  const pieces = piecesOf(fen);
  const targets = new Set(options.map(targetOf));
  const movable = new Set(moves.map(move => move.slice(0, 2)));
  const square = (name: string) => {
    const piece = pieces.get(name);
    const target = targets.has(name);
    const marks = { movable: movable.has(name), target, taken: piece !== undefined };
    const names = Object.entries(marks).filter(([, set]) => set);
    return (
      <Button
        key={name}
        className={['mosaic-square', ...names.map(([mark]) => `mosaic-${mark}`)].join(' ')}
        role="gridcell"
        data-square={name}
        tabIndex={name === current ? 0 : -1}
        aria-selected={name === from}
        aria-label={`${name} ${pieceName(piece)}${target ? ', legal' : ''}`}
        onFocus={() => setCurrent(name)}
        onClick={() => click(name)}
        {...OWN_KEYS}
      />
    );
  };
  return (
    // Keys and clicks here are for the board, not for the picture below it.
    <div
      className="mosaic-board"
      role="grid"
      aria-label={`chess board of ${agent}`}
      inert={closed}
      ref={el}
      onKeyDown={key}
      onClick={event => event.stopPropagation()}
    >
      {RANKS.map(rank => (
        <div key={rank} className="mosaic-board-row" role="row">
          {[...FILES].map(file => square(`${file}${rank}`))}
        </div>
      ))}
      <div className="mosaic-promotion" role="group" aria-label="promote to" hidden={!promoting}>
        {promotionsOf(promotions).map(([piece, move]) => (
          <Button key={piece} title={`promote to a ${piece}`} onClick={() => playMove(move)} {...OWN_KEYS}>
            {piece}
          </Button>
        ))}
      </div>
    </div>
  );
}
