/** Films as text, and the film nearest to a position on a curve. */

import { integerText, number } from '../../shared/numbers.ts';
import type { FilmFacts } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';

/** The caption of a first frame: its time and its return. */
export function filmCaption(film: FilmFacts): [step: string, result: string] {
  const result = film.return === null ? '' : trans.__('return %1', number(film.return));
  return [trans.__('step %1', integerText(film.step)), result];
}

/** A description in a sentence, for the player and for screen readers. */
export function filmSentence(film: FilmFacts): string {
  const [step, result] = filmCaption(film);
  const length = trans._n('%2 step', '%2 steps', film.length, integerText(film.length));
  const cut = film.complete ? '' : trans.__('cut off');
  return `${step}: ${[result, length, cut].filter(Boolean).join(', ')}`;
}

/** The film nearest to a position; `place` is a film's position on the same axis, null if it has none. */
export function nearestFilm<Film extends FilmFacts>(
  films: readonly Film[],
  moment: number,
  positionOf: (film: Film) => number | null = film => film.step
): Film | null {
  let nearest: Film | null = null;
  let smallest = Number.POSITIVE_INFINITY;
  for (const film of films) {
    const position = positionOf(film);
    if (position !== null && Math.abs(position - moment) < smallest) {
      nearest = film;
      smallest = Math.abs(position - moment);
    }
  }
  return nearest;
}
