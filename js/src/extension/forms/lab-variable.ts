/** Finds a notebook's `Lab` variable, and the names used by its cells. */

export const IMPORT = 'import mosaic_lab as mosaic';
/** Python's identifiers. */
const NAME = /[\p{XID_Start}_]\p{XID_Continue}*/gu;
/** The statement that imports this package, as opposed to its text in a comment. */
const IMPORTED = new RegExp(`(?:^|;)[ \\t]*${IMPORT}[ \\t]*(?=$|;|#)`, 'gm');
/** The package's name in an expression such as `mosaic.Lab()`. */
const MEMBER = /\bmosaic(?=[ \t]*\.)/g;
const LONGEST_NAME = 300;

const ASSIGNMENT = /(?:^|;[ \t]*)([A-Za-z_]\w*)\s*(?::[^=\n]+)?=\s*(?:[A-Za-z_]\w*\.)?Lab\(/gm;

/** The variable of the last `… = Lab(…)` in these cells, or null. */
export function labVariable(sources: readonly string[]): string | null {
  let variable: string | null = null;
  for (const source of sources) {
    for (const match of source.matchAll(ASSIGNMENT)) variable = match[1] ?? variable;
  }
  return variable;
}

/**
 * The names in these cells, which a new cell must not assign, in the form to which Python normalizes them;
 * excludes the name of this package if it is imported and has no other meaning anywhere.
 */
export function namesIn(sources: readonly string[]): string[] {
  const names = new Set(
    sources
      .flatMap(source => source.match(NAME) ?? [])
      .map(name => name.normalize('NFKC'))
      .filter(name => name.length <= LONGEST_NAME)
  );
  const withoutImports = sources.map(source => source.replace(IMPORTED, ''));
  const imported = withoutImports.some((source, index) => source !== sources[index]);
  if (
    imported &&
    !withoutImports.some(source => /\bmosaic\b/.test(source.normalize('NFKC').replace(MEMBER, '')))
  ) {
    names.delete('mosaic');
  }
  return [...names];
}

/** `name`, with a number if it is taken. */
export function freeName(name: string, usedNames: readonly string[]): string {
  let free = name;
  for (let number = 2; usedNames.includes(free); number++) {
    free = `${name}_${number}`;
  }
  return free;
}
