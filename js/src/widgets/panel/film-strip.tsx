/**
 * Films in a run's panel: `FilmStrip` on a widget's traits. A click on the chart above, between its axes,
 * plays the film of the nearest checkpoint.
 */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { FilmStrip } from '../../views/films/film-strip.tsx';
import { nearestFilm } from '../../views/films/film-text.ts';
import { type Model, type RenderContext, send } from '../host/anywidget.ts';
import { valueAt } from '../host/bqplot.ts';
import { modelOf } from '../host/ipywidgets.ts';
import { useTrait, view } from '../host/react.ts';
import type { FilmStripTraits } from '../messages.ts';

const ANSWER_MS = 30_000;
const DRAGGED_PX = 4;
let requests = Date.now();

/** Request a film; the answer is the trait `film` with the same number. */
function load(model: Model<FilmStripTraits>, step: number): Promise<Blob> {
  requests += 1;
  const number = requests;
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(late);
      model.off('change:film', show);
    };
    const show = () => {
      const film = model.get('film');
      if (film.number !== number || film.data === undefined) return;
      end();
      if (film.error) reject(new Error(film.error));
      else resolve(new Blob([film.data], { type: film.type }));
    };
    const late = setTimeout(() => {
      end();
      reject(new Error('The kernel did not send the film'));
    }, ANSWER_MS);
    model.on('change:film', show);
    send(model, 'wanted', { step, number });
  });
}

function Films({ model, el }: RenderContext<FilmStripTraits>) {
  const described = useTrait(model, 'films');
  const note = useTrait(model, 'note');
  const [chosen, choose] = useState<number | null>(null);
  const films = useMemo(
    () => described.map(({ frame, ...film }) => ({ ...film, frame: URL.createObjectURL(new Blob([frame])) })),
    [described]
  );
  useEffect(() => () => films.forEach(({ frame }) => void URL.revokeObjectURL(frame)), [films]);
  useEffect(() => {
    const figure = el.closest('.mosaic-panel')?.querySelector<HTMLElement>('.bqplot');
    if (!figure) return;
    let pressed: MouseEvent | null = null;
    const down = (event: MouseEvent) => {
      pressed = event;
    };
    const click = async (event: MouseEvent) => {
      const moved = pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY);
      const scale = model.get('x_scale');
      if (!scale || (moved ?? 0) > DRAGGED_PX) return;
      const x = valueAt(figure, await modelOf(model.widget_manager, scale), event);
      const steps = model.get('places');
      const nearest = x === null ? null : nearestFilm(films, x, film => steps[films.indexOf(film)] ?? null);
      if (nearest) choose(nearest.step);
    };
    figure.addEventListener('mousedown', down, true);
    figure.addEventListener('click', click, true);
    return () => {
      figure.removeEventListener('mousedown', down, true);
      figure.removeEventListener('click', click, true);
    };
  }, [el, model, films]);
  const get = useCallback((step: number) => load(model, step), [model]);
  return <FilmStrip films={films} note={note} chosen={chosen} choose={choose} load={get} />;
}

export default view(Films);
