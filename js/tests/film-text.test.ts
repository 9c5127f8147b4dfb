import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilmFacts } from '../src/shared/run-api.ts';
import { filmCaption, filmSentence, nearestFilm } from '../src/views/films/film-text.ts';

const film: FilmFacts = { step: 20_000, return: 123.4567, length: 1, seconds: 3, complete: true };

test('a film is described by its step, return and length', () => {
  assert.deepEqual(filmCaption(film), ['step 20,000', 'return 123']);
  assert.equal(filmSentence(film), 'step 20,000: return 123, 1 step');
  const cut = { ...film, return: null, length: 4000, complete: false };
  assert.equal(filmSentence(cut), 'step 20,000: 4,000 steps, cut off');
});

test('a position on a chart selects the film of the nearest checkpoint', () => {
  const films = [100, 200, 400].map(step => ({ ...film, step }));
  assert.deepEqual(
    [-5, 149, 151, 301, 1e9].map(step => nearestFilm(films, step)?.step),
    [100, 100, 200, 400, 400]
  );
  assert.equal(nearestFilm([], 3), null);
});
