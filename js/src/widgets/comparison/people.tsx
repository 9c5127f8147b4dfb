/** The players of a lane: their pads, a chess board over its picture, and its keys while it has the focus. */

import { type PointerEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { scrollable } from '../../views/scrollable.ts';
import { Button, OWN_KEYS } from '../common/parts.tsx';
import { viewName } from '../host/anywidget.ts';
import { useLast } from '../host/react.ts';
import type { Action, KeyBinding, Person } from '../messages.ts';
import { Board } from './board.tsx';
import type { CardProps } from './card.tsx';
import { isSameAction, keyName, type Player, playWithKeys, rebound } from './keys.ts';

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

const SMALL = 'mosaic-button mosaic-small';

interface PadProps {
  readonly person: Person;
  /** The keys chosen here; null: the environment's own. */
  readonly own: KeyBinding[] | null;
  /** More than one player in this lane. */
  readonly several: boolean;
  /** The number of the kernel's last message, after which an answer may be given again. */
  readonly said: number;
  /** Play an action in the kernel; in real time null ends it. */
  readonly press: (action: Action | null) => void;
  /** Change the keys; null: the environment's own. */
  readonly bind: (keys: KeyBinding[] | null) => void;
  /** Move the focus to where keys are read. */
  readonly focus: () => void;
  /** Take the player for the keys; null when the pad is gone. */
  readonly plays: (player: Player | null) => void;
}

function Pad({ person, own, several, said, press, bind, focus, plays }: PadProps) {
  const { agent, actions, early, legal, realtime, request, turn, typed } = person;
  const keys = own ?? person.keys;
  const [answered, setAnswered] = useState('');
  const [changing, setChanging] = useState(false);
  /** The action that will get a new key. */
  const [chosen, choose] = useState<{ action: Action } | null>(null);
  // The last text remains between turns, unless another player uses the same screen.
  const last = useLast(person.text);
  const text = several ? person.text : last;
  const answer = `${request} ${said}`;
  const done = request !== null && answered === answer;
  const awaited = request !== null && !done;

  const play = (action: Action) => {
    setAnswered(answer);
    press(action); // after the answer, the kernel keeps it for the next turn
  };
  const toggleChanging = () => {
    setChanging(!changing);
    choose(null);
  };
  const takeKey = (key: string) => {
    if (!chosen) return;
    choose(null);
    bind(rebound(keys, key, chosen.action));
  };
  useLayoutEffect(() => {
    plays({
      ...{ keys, awaited, turn, realtime, rebinding: chosen !== null },
      ...{ play, press, takeKey, cancelRebinding: toggleChanging }
    });
    return () => plays(null);
  });
  const playing = realtime ? 'real time: hold a key' : early || (awaited ? 'your turn' : '');
  const message = chosen ? 'now press its key' : changing ? 'choose an action' : playing;
  return (
    <div
      className={`mosaic-pad${awaited ? ' mosaic-awaited' : ''}`}
      role="group"
      aria-label={`actions of ${agent}`}
    >
      <div className="mosaic-pad-head">
        <b>{several ? agent : 'You'}</b>
        <span className="mosaic-pad-message" title={early}>
          {message}
        </span>
        <Button
          className={`${SMALL} mosaic-toggle`}
          title="Choose other keys"
          aria-pressed={changing}
          hidden={typed}
          onClick={toggleChanging}
        >
          {changing ? 'Done' : 'Keys'}
        </Button>
        <Button
          className={SMALL}
          title="Restore the environment's default keys"
          hidden={!changing || !own}
          onClick={() => bind(null)}
        >
          Default keys
        </Button>
      </div>
      <pre className="mosaic-pad-text" hidden={!text} {...scrollable(`what ${agent} may know`)}>
        {text}
      </pre>
      <div className="mosaic-pad-actions">
        {actions.map(([action, name]) => (
          <ActionButton
            key={JSON.stringify(action)}
            name={name}
            keys={keys.filter(([, bound]) => isSameAction(bound, action)).map(([bound]) => keyName(bound))}
            disabled={!changing && legal !== null && !legal.includes(action)}
            chosen={chosen !== null && isSameAction(chosen.action, action)}
            held={realtime && !changing}
            press={down => press(down ? action : null)}
            click={() => {
              if (!changing) return play(action);
              choose({ action });
              focus();
            }}
          />
        ))}
      </div>
      <TypedAction person={person} play={play} />
    </div>
  );
}

interface ActionButtonProps {
  readonly name: string;
  readonly keys: readonly string[];
  readonly disabled: boolean;
  readonly chosen: boolean;
  /** The action lasts while the button is held down: real time. */
  readonly held: boolean;
  readonly press: (down: boolean) => void;
  readonly click: () => void;
}

function ActionButton({ name, keys, disabled, chosen, held, press, click }: ActionButtonProps) {
  const hint = keys.length ? `${name}: key ${keys.join(' or ')}` : name;
  const down = ({ button, currentTarget, pointerId }: PointerEvent) => {
    if (!held || button) return;
    currentTarget.setPointerCapture(pointerId);
    press(true);
  };
  const up = () => held && press(false);
  return (
    <Button
      className="mosaic-button mosaic-play"
      title={hint}
      aria-label={hint}
      aria-pressed={chosen}
      disabled={disabled}
      onPointerDown={down}
      onPointerUp={up}
      onPointerCancel={up}
      onClick={({ detail }) => {
        if (!held) return click();
        if (detail) return;
        press(true); // a click without a pointer (a key on the button, a screen reader) is a short press
        press(false);
      }}
    >
      <kbd hidden={keys.length === 0}>{keys.join(' ')}</kbd>
      <span>{name}</span>
    </Button>
  );
}

/** The typed action: a named move, free text, or the number of an action. */
function TypedAction({ person, play }: { person: Person; play: (action: Action) => void }) {
  const { agent, bounds, moves, typed, words } = person;
  const field = useRef<HTMLInputElement>(null);
  const [list] = useState(() => `mosaic-moves-${viewName()}`);
  const submit = () => {
    const input = field.current;
    if (!input?.reportValidity()) return;
    play(moves || words ? input.value.trim() : Number(input.value));
    input.value = '';
  };
  return (
    <div className="mosaic-pad-typed" hidden={!typed}>
      <input
        ref={field}
        className="mosaic-number"
        type={moves || words ? 'text' : 'number'}
        aria-label={`${moves ? 'move' : 'action'} of ${agent}`}
        required
        step="1"
        min={bounds?.[0]}
        max={bounds?.[1]}
        list={moves ? list : undefined}
        onKeyDown={event => event.key === 'Enter' && submit()}
        {...OWN_KEYS}
      />
      <datalist id={list}>
        {moves?.map(move => (
          <option key={move} value={move} />
        ))}
      </datalist>
      <Button title="Play what is typed (Enter)" onClick={submit}>
        Play
      </Button>
    </div>
  );
}
