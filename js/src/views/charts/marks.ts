/** The starts of curriculum stages: labelled vertical lines of a chart. */

import { projection, type Scale } from './line-painter.ts';
import type { ChartLine } from './lines.ts';
import type { Range } from './ranges.ts';

/** The start of a stage on the x axis of one line. */
export interface Place {
  readonly x: number;
  readonly label: string;
}

export interface Mark extends Place {
  /** Null: the text colour. */
  readonly color: string | null;
}

/** Maximum number of lines whose marks a chart shows; more could not be distinguished. */
const MAX_MARKED = 4;
/** Labels alternate between this many rows. */
const LABEL_ROWS = 3;
const ROW = 12;

/**
 * The marks of a chart: places shared by all lines with places have the text colour, others their line's
 * colour. `marks_of` in `mosaic_lab/chart_style.py` does the same.
 */
export function marksOf(lines: readonly ChartLine[]): Mark[] {
  const marked = lines.flatMap(({ data: { marks = [] }, color }) =>
    marks.length > 0 ? [{ marks, color }] : []
  );
  const shared = (marked[0]?.marks ?? []).filter(mark => marked.every(({ marks }) => has(marks, mark)));
  const distinct: Mark[] = shared.map(({ x, label }) => ({ x, label, color: null }));
  if (marked.length <= MAX_MARKED) {
    for (const { marks, color } of marked) {
      for (const mark of marks) if (!has(shared, mark)) distinct.push({ ...mark, color });
    }
  }
  return distinct.sort((a, b) => a.x - b.x);
}

function has(marks: readonly Place[], { x, label }: Place): boolean {
  return marks.some(mark => mark.x === x && mark.label === label);
}

/** A range of x extended to the marks: the first stage begins before there is a value. */
export function withMarks([low, high]: Range, marks: readonly Mark[], log: boolean): Range {
  return [Math.min(low, ...marks.map(({ x }) => x).filter(x => !log || x > 0)), high];
}

/** Draw the visible marks over the full height of `y`; `text` is the colour of marks without one. */
export function paintMarks(
  context: CanvasRenderingContext2D,
  marks: readonly Mark[],
  x: Scale,
  y: Scale,
  text: string,
  ratio: number
): void {
  const project = projection(x);
  context.save();
  context.lineWidth = ratio;
  context.setLineDash([4 * ratio, 3 * ratio]);
  context.font = `${11 * ratio}px sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  marks.forEach((mark, number) => {
    const left = Math.round(project(mark.x)) + 0.5;
    if (!(left >= x.from && left <= x.to + 1)) return;
    context.strokeStyle = context.fillStyle = mark.color ?? text;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(left, y.to);
    context.lineTo(left, y.from);
    context.stroke();
    context.globalAlpha = 1;
    context.fillText(mark.label, left + 4 * ratio, y.to + (2 + ROW * (number % LABEL_ROWS)) * ratio);
  });
  context.restore();
}
