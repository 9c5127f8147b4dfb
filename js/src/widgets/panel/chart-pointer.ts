/** The values under the pointer on a bqplot chart: the nearest points of all its lines, the greatest first, with their names. */

import './chart-pointer.css';
import { type Near, readout } from '../../views/charts/nearest.ts';
import { valueText } from '../../views/charts/numbers.ts';
import { element, swatch } from '../common/elements.ts';
import type { Model, RenderContext } from '../host/anywidget.ts';
import { type LinesModel, linesOfMark, placeOf, plotArea, valueAt } from '../host/bqplot.ts';
import type { ChartPointerTraits, ModelReference } from '../messages.ts';

const REACH_PX = 12;
const GAP_PX = 14;
const MOST = 12;

class Pointer {
  private readonly model: Model<ChartPointerTraits>;
  private readonly figure: HTMLElement;
  private readonly guide = element('div', 'mosaic-pointer-guide');
  private readonly box = element('div', 'mosaic-pointer');
  private readonly ended = new AbortController();
  private moves = 0;

  constructor(model: Model<ChartPointerTraits>, figure: HTMLElement) {
    this.model = model;
    this.figure = figure;
    const { signal } = this.ended;
    figure.addEventListener('mousemove', event => void this.move(event), { signal });
    figure.addEventListener('mouseleave', () => this.hide(), { signal });
    window.addEventListener('scroll', () => this.hide(), { signal, capture: true, passive: true });
  }

  close(): void {
    this.ended.abort();
    this.hide();
  }

  private hide(): void {
    this.moves++;
    this.box.remove();
    this.guide.remove();
  }

  private async move(event: MouseEvent): Promise<void> {
    const move = ++this.moves;
    const [xScale, yScale, ...marks] = await Promise.all([
      this.get(this.model.get('x_scale')),
      this.get(this.model.get('y_scale')),
      ...this.model.get('marks').map(mark => this.get(mark))
    ]);
    if (move !== this.moves) return; // the pointer is elsewhere by now
    const area = plotArea(this.figure);
    const x = valueAt(this.figure, xScale, event);
    if (!area || x === null) {
      this.hide();
      return;
    }
    const log = this.model.get('log');
    const pointer = (area.bottom - event.clientY) / area.height;
    const distance = (value: number) => Math.abs(placeOf(yScale, value, log) - pointer);
    const reach = (valueAt(this.figure, xScale, shifted(event, area)) ?? x) - x;
    const found = readout(this.lines(marks as LinesModel[]), x, Math.abs(reach), distance, MOST);
    if (!found.nearest) {
      this.hide();
      return;
    }
    const place = `${this.model.get('x_label')} ${valueText(found.nearest.x)}`;
    this.show(event, area, place, found.points, found.nearest, found.more);
  }

  private get(reference: ModelReference): Promise<unknown> {
    return this.model.widget_manager.get_model(reference.replace('IPY_MODEL_', ''));
  }

  private lines(marks: readonly LinesModel[]) {
    const labels = new Map(this.model.get('labels').map(({ color, label }) => [color, label]));
    return marks.flatMap(linesOfMark).map(({ x, y, color }) => {
      const label = labels.get(color) ?? '';
      return { data: { key: color, runs: [], label, x, y }, label, color };
    });
  }

  private show(
    event: MouseEvent,
    area: DOMRect,
    place: string,
    points: readonly Near[],
    nearest: Near,
    more: number
  ): void {
    this.box.replaceChildren(element('div', 'mosaic-pointer-place', null, place));
    for (const point of points) {
      const row = element('div', 'mosaic-pointer-row', this.box);
      row.classList.toggle('mosaic-nearest', point === nearest);
      swatch(row, point.line.color);
      element('span', 'mosaic-pointer-label', row, point.line.label);
      element('b', '', row, valueText(point.y));
    }
    if (more) element('div', 'mosaic-pointer-place', this.box, `and ${more} more`);
    // Below the body: in a notebook's cell "fixed" would not be of the window.
    document.body.append(this.guide, this.box);
    const { width, height } = this.box.getBoundingClientRect();
    const left = event.clientX + GAP_PX + width < window.innerWidth;
    this.box.style.left = `${left ? event.clientX + GAP_PX : event.clientX - GAP_PX - width}px`;
    this.box.style.top = `${Math.max(0, Math.min(area.top, window.innerHeight - height))}px`;
    Object.assign(this.guide.style, {
      left: `${event.clientX}px`,
      top: `${area.top}px`,
      height: `${area.height}px`
    });
  }
}

/** The same event, as far to the side as a point may be away; to the left where there is no room. */
function shifted(event: MouseEvent, area: DOMRect): MouseEvent {
  const side = event.clientX + REACH_PX < area.right ? REACH_PX : -REACH_PX;
  return { clientX: event.clientX + side, clientY: event.clientY } as MouseEvent;
}

function render({ model, el }: RenderContext<ChartPointerTraits>): () => void {
  el.hidden = true;
  let pointer: Pointer | null = null;
  const begin = () => {
    const figure = el.isConnected ? el.previousElementSibling : null;
    if (figure instanceof HTMLElement) pointer = new Pointer(model, figure);
    else waiting = requestAnimationFrame(begin); // the view is put into the page after it is rendered
  };
  let waiting = requestAnimationFrame(begin);
  return () => {
    cancelAnimationFrame(waiting);
    pointer?.close();
  };
}

export default { render };
