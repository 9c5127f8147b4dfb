/**
 * The players of a lane: their pads, a chess board over its picture, and the keys while the picture has the
 * focus.
 */

import { useEffect, useLayoutEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { useLast } from '../host/react.ts';
import { Board } from './board.tsx';
import type { CardProps } from './card.tsx';
import { type Player, playWithKeys } from './keys.ts';
import { Pad } from './pad.tsx';

export function People({ lane, tile, closed, said, bindings, call, bind }: CardProps) {
  const { index, label, people } = lane;
  const { stage } = tile;
  const players = useRef<(Player | null)[]>([]);
  useEffect(() => playWithKeys(stage, () => players.current.filter(player => player !== null)), [stage]);
  const mover = people.findIndex(({ board }) => board);
  const seated = useLast(people[mover] ?? null);
  const playable = people.length > 0 && !closed && !seated;
  useLayoutEffect(() => {
    stage.classList.toggle('mosaic-playable', playable);
    if (playable) {
      stage.tabIndex = 0;
      stage.setAttribute('role', 'application');
      stage.setAttribute('aria-label', `Play ${label} with the keys; Escape leaves`);
    } else {
      stage.removeAttribute('tabindex');
    }
  }, [stage, playable, label]);
  return (
    <div className="mosaic-people" inert={closed}>
      {people.map((person, i) => (
        <Pad
          key={person.agent}
          person={person}
          own={bindings[person.agent] ?? null}
          several={people.length > 1}
          said={said}
          press={action => call('press', { lane: index, agent: person.agent, action })}
          bind={keys => bind(index, person.agent, keys)}
          focus={() => stage.focus()}
          plays={player => {
            players.current[i] = player;
          }}
        />
      ))}
      {seated?.board &&
        createPortal(
          <Board
            agent={seated.agent}
            fen={seated.board.fen}
            legal={mover < 0 ? [] : seated.board.moves}
            closed={closed}
            said={said}
            play={move => players.current[mover]?.play(move)}
          />,
          tile.picture
        )}
    </div>
  );
}
