/** The layout of parallel coordinates: titles do not overlap, nor do numbers and axes. */

/** Maximum number of displayed letters of a label. */
export const MAX_CHARS = { title: 22, tick: 16 };
const LETTER_PX = 6.6;
/** Minimum distance between two axes; with less space they scroll. */
const MIN_GAP = 72;

interface AxisTexts {
  readonly title: string;
  readonly ticks: readonly string[];
}

interface ParallelLayout {
  readonly width: number;
  /** The x of each axis. */
  readonly left: readonly number[];
}

/** The width in pixels of a label with this many letters, of which `most` are shown. */
export function pixels(text: string, maximum: number): number {
  return LETTER_PX * Math.min(text.length, maximum);
}

/** The layout in `room` pixels, or more if needed. Ticks are left of their axis, those of the last right. */
export function parallelLayout(axes: readonly AxisTexts[], available: number): ParallelLayout {
  const titles = axes.map(({ title }) => pixels(title, MAX_CHARS.title));
  const ticks = axes.map(axis => Math.max(0, ...axis.ticks.map(tick => pixels(tick, MAX_CHARS.tick))));
  const last = axes.length - 1;
  const half = (i: number) => (titles[i] ?? 0) / 2;
  const tick = (i: number) => ticks[i] ?? 0;
  const before = Math.max(half(0) + 6, last > 0 ? tick(0) + 14 : 0);
  const after = Math.max(half(last) + 6, tick(last) + 16);
  const gaps = titles
    .slice(1)
    .map((_, i) => Math.max(MIN_GAP, half(i) + half(i + 1) + 14, i + 1 < last ? tick(i + 1) + 22 : 0));
  const needed = before + after + gaps.reduce((sum, gap) => sum + gap, 0);
  const width = Math.max(available, Math.ceil(needed));
  const spare = (width - needed) / Math.max(1, gaps.length);
  const lefts = [before];
  for (const gap of gaps) lefts.push((lefts.at(-1) as number) + gap + spare);
  return { width, left: lefts };
}

/** The path that joins the points on both sides of each gap. */
export function bridgingPath(points: readonly ([number, number] | null)[]): string {
  const placed = points.flatMap((point, i) => (point ? [{ text: placeText(point), i }] : []));
  const bridges = placed.map(({ text, i }, next) => {
    const last = placed[next - 1];
    return last && i > last.i + 1 ? `M${last.text}L${text}` : '';
  });
  return bridges.join('');
}

/** The path of a line through these points, broken at each null. A point between two gaps is a dot. */
export function brokenPath(points: readonly ([number, number] | null)[]): string {
  let path = '';
  points.forEach((point, i) => {
    if (!point) return;
    const start = !points[i - 1];
    path += `${start ? 'M' : 'L'}${placeText(point)}`;
    if (start && !points[i + 1]) path += 'h0';
  });
  return path;
}

function placeText(point: readonly [number, number]): string {
  return point.map(value => value.toFixed(1)).join();
}
