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

/** The palette indices of these runs. A run keeps its index; a new one gets the first of the least used. */
export function withColors(
  known: Readonly<Record<string, number>>,
  runs: readonly string[]
): Readonly<Record<string, number>> {
  const fresh = runs.filter(run => known[run] === undefined);
  if (fresh.length === 0) return known;
  const used = new Array<number>(PALETTE.length).fill(0);
  for (const place of Object.values(known))
    used[place % PALETTE.length] = (used[place % PALETTE.length] ?? 0) + 1;
  const places: Record<string, number> = { ...known };
  for (const run of fresh) {
    const place = used.indexOf(Math.min(...used));
    used[place] = (used[place] ?? 0) + 1;
    places[run] = place;
  }
  return places;
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
export function rampColor(place: number): string {
  const at = Math.max(0, Math.min(1, place)) * (RAMP.length - 1);
  const first = Math.min(Math.floor(at), RAMP.length - 2);
  const [from, to] = [RAMP[first], RAMP[first + 1]] as [readonly number[], readonly number[]];
  const mixed = from.map((part, i) => Math.round(part + (at - first) * ((to[i] as number) - part)));
  return `rgb(${mixed.join(', ')})`;
}
