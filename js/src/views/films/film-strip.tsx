/**
 * Films of a run's checkpoints: their first frames in a row, at their steps. The chosen film is loaded and
 * plays below them. `frame` is the URL of a first frame; its creator revokes it.
 */

import './films.css';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import type { FilmFacts } from '../../shared/run-api.ts';
import { messageOf } from '../../shared/transport.ts';
import { trans } from '../translation.ts';
import { filmCaption, filmSentence } from './film-text.ts';

interface ShownFilm extends FilmFacts {
  frame: string;
}

interface FilmStripProps {
  films: readonly ShownFilm[];
  /** Further information: checkpoints without a film, and the run that makes films. */
  note: string;
  /** The step of the playing film; null for none. */
  chosen: number | null;
  choose: (step: number | null) => void;
  load: (step: number) => Promise<Blob>;
}

export function FilmStrip({ films, note, chosen, choose, load }: FilmStripProps) {
  const row = useRef<HTMLDivElement>(null);
  const film = films.find(({ step }) => step === chosen) ?? null;
  const reachable = film?.step ?? films.at(-1)?.step;
  useEffect(() => {
    if (chosen === null) return;
    row.current
      ?.querySelector(`[data-step="${chosen}"]`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen]);
  const move = (event: KeyboardEvent) => {
    const buttons = [...(row.current?.querySelectorAll<HTMLButtonElement>('button') ?? [])];
    const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || index < 0) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
  };
  return (
    <div className="mosaic-films" data-lm-suppress-shortcuts="true">
      {films.length > 0 && (
        <div
          className="mosaic-film-row"
          ref={row}
          role="toolbar"
          aria-label={trans.__('Films')}
          onKeyDown={move}
        >
          {films.map(item => {
            const [step, result] = filmCaption(item);
            return (
              <button
                type="button"
                key={item.step}
                data-step={item.step}
                tabIndex={item.step === reachable ? 0 : -1}
                aria-pressed={item.step === chosen}
                aria-label={filmSentence(item)}
                onClick={() => choose(item.step === chosen ? null : item.step)}
              >
                <img src={item.frame} alt="" draggable={false} />
                <span>{step}</span>
                <span>{result}</span>
              </button>
            );
          })}
        </div>
      )}
      {film && <Player key={film.step} film={film} load={load} />}
      {note && <div className="mosaic-film-note">{note}</div>}
    </div>
  );
}

function Player({ film, load }: { film: ShownFilm } & Pick<FilmStripProps, 'load'>) {
  const [source, setSource] = useState<string | null>(null);
  const [problem, setProblem] = useState('');
  const { step } = film;
  useEffect(() => {
    let address: string | null = null;
    let gone = false;
    load(step).then(
      data => {
        if (gone) return;
        address = URL.createObjectURL(data);
        setSource(address);
      },
      error => !gone && setProblem(messageOf(error))
    );
    return () => {
      gone = true;
      if (address) URL.revokeObjectURL(address);
    };
  }, [step, load]);
  const sentence = filmSentence(film);
  return (
    <figure className="mosaic-film-player">
      {problem ? (
        <div role="alert">{problem}</div>
      ) : source ? (
        <Film
          source={source}
          poster={film.frame}
          sentence={sentence}
          onError={() => setProblem(trans.__('The film cannot be played: its file may be damaged.'))}
        />
      ) : (
        <img src={film.frame} alt={trans.__('The film is being loaded')} />
      )}
      <figcaption>{sentence}</figcaption>
    </figure>
  );
}

/** A film with its controls below the picture; the browser's own would cover it. */
function Film(props: { source: string; poster: string; sentence: string; onError: () => void }) {
  const { source, poster, sentence, onError } = props;
  const video = useRef<HTMLVideoElement>(null);
  const [playing, setPlaying] = useState(true);
  const [second, setAt] = useState(0);
  const [seconds, setSeconds] = useState(0);
  const toggle = () => void (playing ? video.current?.pause() : video.current?.play());
  return (
    <>
      <video
        ref={video}
        src={source}
        poster={poster}
        autoPlay
        loop
        muted
        playsInline
        aria-label={sentence}
        onClick={toggle}
        onError={onError}
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onDurationChange={event => setSeconds(event.currentTarget.duration)}
        onTimeUpdate={event => setAt(event.currentTarget.currentTime)}
      />
      <div className="mosaic-film-controls">
        <button type="button" onClick={toggle}>
          {playing ? trans.__('Pause') : trans.__('Play')}
        </button>
        <input
          type="range"
          aria-label={trans.__('Moment of the film')}
          min={0}
          max={Number.isFinite(seconds) ? seconds : 0}
          step={0.01}
          value={second}
          onChange={event => {
            if (video.current) video.current.currentTime = Number(event.target.value);
          }}
        />
      </div>
    </>
  );
}
