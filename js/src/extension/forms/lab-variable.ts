/** Finds a notebook's `Lab` variable, and the names used by its cells. */

export const IMPORT = 'import mosaic_lab as mosaic';
const NAME = /[\p{L}_][\p{L}\p{N}_]*/gu;
const LONGEST_NAME = 300;

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

/**
 * The names in these cells, which a new cell must not assign; excludes the name of this package if it is
 * imported.
 */
export function namesIn(sources: readonly string[]): string[] {
  const found = new Set(
    sources.flatMap(source => source.match(NAME) ?? []).filter(name => name.length <= LONGEST_NAME)
  );
  if (sources.some(source => source.includes(IMPORT))) {
    found.delete('mosaic');
  }
  return [...found];
}

/** `name`, with a number if it is taken. */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number++) {
    free = `${name}_${number}`;
  }
  return free;
}
