/**
 * Spreads drawing over frames: charts that change at once are drawn one after another, so that the page stays
 * responsive.
 */

const BUDGET_MS = 12;

const waiting = new Set<() => void>();
let requested = false;

/** Call `draw` once, in one of the next frames. */
export function drawSoon(draw: () => void): void {
  waiting.add(draw);
  if (!requested) {
    requested = true;
    requestAnimationFrame(frame);
  }
}

export function drawNever(draw: () => void): void {
  waiting.delete(draw);
}

function frame(): void {
  const end = performance.now() + BUDGET_MS;
  for (const draw of waiting) {
    waiting.delete(draw);
    draw();
    if (performance.now() > end) break;
  }
  requested = waiting.size > 0;
  if (requested) requestAnimationFrame(frame);
}
