/** Films below the charts: the behaviour of a run's agent at the chosen position. */

import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import { integerText } from '../../shared/numbers.ts';
import type { Axis, Methods } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { Select, Tool } from '../controls.tsx';
import { FilmStrip } from '../films/film-strip.tsx';
import { nearestFilm } from '../films/film-text.ts';
import { trans } from '../translation.ts';
import { useAnswer, useSame } from '../use-answer.ts';
import type { Contents } from './contents.ts';

/** Interval between requests for more films while some are being made. */
const LOOK_MS = 4000;

/** The position of the requested film: a run and a position on an axis; null for the last film. */
export interface Moment {
  readonly run: string;
  readonly axis: Axis;
  readonly x: number | null;
}

interface FilmsPartProps extends Contents {
  readonly moment: Moment;
  readonly onMoment: (moment: Moment | null) => void;
}

export function FilmsPart(props: FilmsPartProps): ReactNode {
  const { source, moment, visible, names, colorOf, onMoment } = props;
  const { run } = moment;
  const { films, note } = useFilms(source, run);
  const [chosen, choose] = useState<number | null>(null);
  useEffect(() => {
    const { axis, x } = moment;
    const film = x === null ? films.at(-1) : nearestFilm(films, x, ({ places }) => places[axis]);
    choose(film?.step ?? null);
  }, [moment, films.length > 0]); // not for each new film: the user may have chosen another
  const load = useCallback(
    async (step: number) => {
      const { result, buffers } = await source.call('film', { run, step });
      return new Blob(buffers.slice(0, 1), { type: result.type });
    },
    [source, run]
  );
  return (
    <section className="mosaic-workspace-films" aria-label={trans.__('Films')}>
      <header>
        <i style={{ background: colorOf(run) }} />
        <Select
          aria-label={trans.__('The run whose films are shown')}
          value={run}
          options={[...new Set([...visible, run])].map(id => [id, names.get(id) ?? id])}
          choose={id => onMoment({ ...moment, run: id })}
        />
        <span className="mosaic-dim">
          {trans.__('Click a chart to see the film nearest to that moment.')}
        </span>
        <Tool
          title={trans.__('Close the films')}
          aria-label={trans.__('Close the films')}
          onClick={() => onMoment(null)}
        >
          ×
        </Tool>
      </header>
      <FilmStrip key={run} films={films} note={note} chosen={chosen} choose={choose} load={load} />
    </section>
  );
}

/** The films of a run with a note; requested again while more are being made. */
function useFilms(source: RunSource, run: string) {
  const { answer, problem, current } = useAnswer(source, 'films', { run }, ({ being_made }) =>
    being_made ? LOOK_MS : null
  );
  const latest = useSame(answer, answer?.result.films.length);
  const films = useMemo(
    () =>
      (latest?.result.films ?? []).map((film, index) => ({
        ...film,
        frame: URL.createObjectURL(new Blob(latest?.buffers.slice(index, index + 1)))
      })),
    [latest]
  );
  useEffect(() => () => films.forEach(({ frame }) => void URL.revokeObjectURL(frame)), [films]);
  const note = current
    ? problem || (answer ? filmsNote(run, answer.result) : '')
    : trans.__('Looking for films …');
  return { films, note };
}

function filmsNote(run: string, answer: Methods['films'][1]): string {
  const missing = Object.entries(answer.missing)
    .slice(-1)
    .map(([step, why]) => trans.__('No film of step %1: %2', integerText(Number(step)), why));
  const none =
    answer.films.length || answer.status || missing.length
      ? []
      : [
          trans.__('No films: make them with lab.make_films(lab.run("%1")), or train with films="each".', run)
        ];
  return [...none, ...missing, answer.status].filter(Boolean).join('; ');
}
