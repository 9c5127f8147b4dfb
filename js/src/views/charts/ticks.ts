/** The positions of an axis' ticks. */

/** Multiples of each power of ten, densest first. */
const FEW_DECADES = [[1, 2, 5], [1, 3], [1]];
const WITHIN_A_DECADE = [[1, 2, 3, 5, 7], ...FEW_DECADES];
/** This many even steps, rounded, leave at least two ticks. */
const LEAST_STEPS = 5;

/** Minimum distance between the ticks of an x axis, in CSS pixels, and that of short labels in narrow charts. */
export const X_SPACE = 64;
const LEAST_X_SPACE = 40;

/** The minimum distance of ticks in this width: steps of 1, 2 and 5 then have at least two ticks in it. */
export function xSpace(width: number): number {
  return Math.max(LEAST_X_SPACE, Math.min(X_SPACE, width / 5));
}

/**
 * Round ticks of a logarithmic axis, at least two: about `most`, at multiples of powers of ten if these
 * suffice.
 */
export function logTicks(low: number, high: number, most: number): number[] {
  const room = Math.max(2, most);
  for (const factors of high / low < 10 ? WITHIN_A_DECADE : FEW_DECADES) {
    const ticks = multiples(low, high, factors);
    if (ticks.length >= 2 && ticks.length <= room) return ticks;
  }
  const powers = multiples(low, high, [1]);
  if (powers.length <= room) return evenTicks(low, high, Math.max(LEAST_STEPS, room));
  const every = Math.ceil(powers.length / room);
  return powers.filter((_, i) => i % every === 0);
}

/** Evenly spaced ticks: multiples of a round number. */
export function evenTicks(low: number, high: number, most: number): number[] {
  const step = roundStep((high - low) / most);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

/** The smallest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) not below `size`. */
export function roundStep(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return power * ([1, 2, 5].find(factor => factor * power >= size * (1 - 1e-9)) ?? 10);
}

/** These multiples of each power of ten in a range. */
function multiples(low: number, high: number, factors: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * (1 + 1e-9); power++) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}
