/** The colours of runs: the palette of `mosaic_lab/chart_style.py`, distinct on white and on near-black. */

export const PALETTE = [
  '#3f7fe0',
  '#e5812b',
  '#35a06b',
  '#9b6bd3',
  '#d9534f',
  '#2aa3b3',
  '#d66fa3',
  '#a0922e',
  '#6f83a8',
  '#b0714a',
  '#5fae3d',
  '#7a5fc0',
  '#c2453c',
  '#3b8f9c',
  '#b356b0',
  '#8a8f3c'
] as const;

export function color(index: number): string {
  return PALETTE[index % PALETTE.length] as string;
}

/**
 * The palette indices of these runs by their places in the run store, so that a run has one colour wherever it is shown.
 * Of two runs with the same index, the later one gets the next of the least used.
 */
export function paletteIndices(
  runs: readonly string[],
  positions: ReadonlyMap<string, number>
): Readonly<Record<string, number>> {
  const used = new Array<number>(PALETTE.length).fill(0);
  const positionOf = (run: string) => positions.get(run) ?? 0;
  const colors: Record<string, number> = {};
  for (const run of runs.toSorted((a, b) => positionOf(a) - positionOf(b))) {
    const fewest = Math.min(...used);
    let index = positionOf(run) % PALETTE.length;
    while (used[index] !== fewest) index = (index + 1) % PALETTE.length;
    used[index] = fewest + 1;
    colors[run] = index;
  }
  return colors;
}

/** From low to high, each legible on white and on black. */
const RAMP: readonly (readonly [number, number, number])[] = [
  [59, 111, 216],
  [138, 99, 201],
  [201, 89, 155],
  [226, 105, 79],
  [214, 150, 40]
];

/** The colour of a value by its position between the minimum (0) and the maximum (1). */
export function rampColor(fraction: number): string {
  const position = Math.max(0, Math.min(1, fraction)) * (RAMP.length - 1);
  const first = Math.min(Math.floor(position), RAMP.length - 2);
  const [from, to] = [RAMP[first], RAMP[first + 1]] as [readonly number[], readonly number[]];
  const mixed = from.map((part, i) => Math.round(part + (position - first) * ((to[i] as number) - part)));
  return `rgb(${mixed.join(', ')})`;
}
