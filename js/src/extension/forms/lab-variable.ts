/** Finds the variable that holds a notebook's `Lab`. */

const ASSIGNMENT = /^([A-Za-z_]\w*)\s*(?::[^=\n]+)?=\s*(?:[A-Za-z_]\w*\.)?Lab\(/gm;

/** The variable of the last `… = Lab(…)` in these cells, or null. */
export function labVariable(sources: readonly string[]): string | null {
  let found: string | null = null;
  for (const source of sources) {
    for (const match of source.matchAll(ASSIGNMENT)) {
      found = match[1] ?? found;
    }
  }
  return found;
}
