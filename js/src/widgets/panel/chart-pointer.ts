/**
 * The values under the pointer on a bqplot chart: the nearest points of all its lines, greatest first, with
 * their names; on a categorical y axis, the values in a row. A click chooses the nearest line or point that has a
 * hint.
 */

import './chart-pointer.css';
import { fineNumber } from '../../shared/numbers.ts';
import type { ChartLine } from '../../views/charts/lines.ts';
import { readout, rowText, valuesInRow } from '../../views/charts/nearest.ts';
import { element, swatch } from '../common/elements.ts';
import { type Model, type RenderContext, send } from '../host/anywidget.ts';
import {
  CHANGES,
  type Changing,
  heightAt,
  linesOfMark,
  type MarkModel,
  placeOf,
  plotArea,
  spanOf,
  valueAt
} from '../host/bqplot.ts';
import { modelOf } from '../host/ipywidgets.ts';
import type { ChartPointerTraits } from '../messages.ts';

const REACH_PX = 12;
const GAP_PX = 14;
const MOST = 12;

/** They change after the lines that they describe. */
const DESCRIBED = ['change:kind', 'change:labels', 'change:x_label', 'change:hints'] as const;

/** The values shown beside the pointer. */
interface Shown {
  readonly place: string;
  readonly values: readonly { readonly line: ChartLine; readonly text: string; readonly nearest: boolean }[];
  readonly more: number;
}

class Pointer {
  private readonly model: Model<ChartPointerTraits>;
  private readonly figure: HTMLElement;
  private readonly guide = element('div', 'mosaic-pointer-guide');
  private readonly box = element('div', 'mosaic-pointer');
  private readonly ended = new AbortController();
  private readonly followed = new Set<Changing>();
  private readonly changed = () => {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.last && void this.move(this.last));
  };
  /** The position of the pointer; null outside the chart. */
  private last: MouseEvent | null = null;
  private waiting = 0;
  private moves = 0;
  /** The mark and the point that a click chooses. */
  private target: [mark: number, point: number] | null = null;

  constructor(model: Model<ChartPointerTraits>, figure: HTMLElement) {
    this.model = model;
    this.figure = figure;
    const { signal } = this.ended;
    for (const name of DESCRIBED) model.on(name, this.changed);
    figure.addEventListener('mousemove', event => void this.move(event), { signal });
    figure.addEventListener('mouseleave', () => this.leave(), { signal });
    figure.addEventListener('click', () => this.choose(), { signal });
    window.addEventListener('scroll', () => this.leave(), { signal, capture: true, passive: true });
  }

  close(): void {
    this.ended.abort();
    for (const name of DESCRIBED) this.model.off(name, this.changed);
    for (const model of this.followed) model.off(CHANGES, this.changed);
    this.leave();
  }

  private leave(): void {
    this.last = null;
    cancelAnimationFrame(this.waiting);
    this.hide();
  }

  private hide(): void {
    this.moves++;
    this.aim(null);
    this.box.remove();
    this.guide.remove();
  }

  private async move(event: MouseEvent): Promise<void> {
    const move = ++this.moves;
    this.last = event;
    const references = [this.model.get('x_scale'), this.model.get('y_scale'), ...this.model.get('marks')];
    const [xScale, yScale, ...marks] = await Promise.all(
      references.map(reference => modelOf(this.model.widget_manager, reference))
    );
    if (move !== this.moves) return; // the pointer has moved on
    this.follow([xScale, yScale, ...marks] as Changing[]);
    const area = plotArea(this.figure);
    const x = valueAt(this.figure, xScale, event);
    if (!area || x === null) {
      this.hide();
      return;
    }
    const lines = this.lines(marks as MarkModel[]);
    const valuesOf = (those: readonly ChartLine[]) =>
      this.model.get('rows').length
        ? this.inRow(those, x, Math.round(heightAt(area, yScale, event)))
        : this.nearest(those, x, area, xScale, yScale, event);
    const nearest = valuesOf(lines);
    if (!nearest?.values.length) {
      this.hide();
      return;
    }
    this.aim(valuesOf(lines.filter(line => this.hintOf(placeOfLine(line)))));
    this.show(event, area, nearest);
  }

  /** Let a click choose the nearest of these values. */
  private aim(shown: Shown | null): void {
    const line = shown?.values.find(({ nearest }) => nearest)?.line;
    this.target = line ? placeOfLine(line) : null;
    this.figure.classList.toggle('mosaic-clickable', line !== undefined);
  }

  private choose(): void {
    if (this.target) send(this.model, 'chosen', { id: this.target, number: Date.now() });
  }

  private hintOf([mark, point]: readonly [number, number]): string {
    return this.model.get('hints')[mark]?.[point] ?? '';
  }

  /** Update the values when the data change while the pointer rests. */
  private follow(models: readonly Changing[]): void {
    for (const model of models.filter(candidate => !this.followed.has(candidate))) {
      this.followed.add(model);
      model.on(CHANGES, this.changed);
    }
  }

  private inRow(lines: readonly ChartLine[], x: number, row: number): Shown {
    const rowValues = valuesInRow(lines, row, x);
    const values = rowValues.slice(0, MOST).map((value, i) => {
      return { line: value.line, text: rowText(value), nearest: i === 0 };
    });
    const title = `${this.model.get('rows')[row] ?? ''} · ${this.model.get('x_label')}`;
    return { place: title, values, more: rowValues.length - values.length };
  }

  private nearest(
    lines: readonly ChartLine[],
    x: number,
    area: DOMRect,
    xScale: unknown,
    yScale: unknown,
    event: MouseEvent
  ): Shown | null {
    const log = this.model.get('log');
    const pointer = (area.bottom - event.clientY) / area.height;
    const distance = (value: number) => Math.abs(placeOf(yScale, value, log) - pointer);
    const reach = (REACH_PX / area.width) * spanOf(xScale);
    const { nearest, points, more } = readout(lines, x, reach, distance, MOST);
    if (!nearest) return null;
    const kind = this.model.get('kind');
    const title = `${this.model.get('x_label')} ${fineNumber(nearest.x)}${kind && ` · ${kind}`}`;
    const values = points.map(point => {
      return { line: point.line, text: fineNumber(point.y), nearest: point === nearest };
    });
    return { place: title, values, more };
  }

  private lines(marks: readonly MarkModel[]): ChartLine[] {
    const labels = this.model.get('labels');
    const inRows = this.model.get('rows').length > 0;
    return marks.flatMap((mark, index) =>
      linesOfMark(mark)
        .map(({ x, y, color }, i) => {
          const label = labels[index]?.[i] ?? '';
          return { data: { key: `${index} ${i}`, runs: [], label, x, y }, label, color };
        })
        .filter(({ data }) => inRows || ascending(data.x))
    );
  }

  private show(event: MouseEvent, area: DOMRect, { place, values, more }: Shown): void {
    this.box.replaceChildren(element('div', 'mosaic-pointer-place', null, place));
    for (const { line, text, nearest } of values) {
      const row = element('div', 'mosaic-pointer-row', this.box);
      row.classList.toggle('mosaic-nearest', nearest);
      swatch(row, line.color);
      element('span', 'mosaic-pointer-label', row, line.label);
      element('b', '', row, text);
    }
    if (more) element('div', 'mosaic-pointer-place', this.box, `and ${more} more`);
    if (this.target) element('div', 'mosaic-pointer-hint', this.box, this.hintOf(this.target));
    // Below the body: in a notebook's cell "fixed" would not be relative to the window.
    document.body.append(this.guide, this.box);
    const { width, height } = this.box.getBoundingClientRect();
    const fitsRight = event.clientX + GAP_PX + width < window.innerWidth;
    this.box.style.left = `${fitsRight ? event.clientX + GAP_PX : event.clientX - GAP_PX - width}px`;
    this.box.style.top = `${Math.max(0, Math.min(area.top, window.innerHeight - height))}px`;
    Object.assign(this.guide.style, {
      left: `${event.clientX}px`,
      top: `${area.top}px`,
      height: `${area.height}px`
    });
  }
}

/** The indices of a line's mark, and of the line or point in it. */
function placeOfLine({ data }: ChartLine): [number, number] {
  const [mark = 0, point = 0] = data.key.split(' ').map(Number);
  return [mark, point];
}

/** Whether a line is a curve; the cross of two intervals is not. */
function ascending(x: Float64Array): boolean {
  return x.every((value, i) => i === 0 || value >= (x[i - 1] as number));
}

function render({ model, el }: RenderContext<ChartPointerTraits>): () => void {
  el.hidden = true;
  let pointer: Pointer | null = null;
  const begin = () => {
    const figure = el.isConnected ? el.previousElementSibling : null;
    if (figure instanceof HTMLElement) pointer = new Pointer(model, figure);
    else waiting = requestAnimationFrame(begin); // the view is added to the page after it is rendered
  };
  let waiting = requestAnimationFrame(begin);
  return () => {
    cancelAnimationFrame(waiting);
    pointer?.close();
  };
}

export default { render };
