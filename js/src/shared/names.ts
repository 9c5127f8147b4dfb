/** Names where there is little room: the part in which they differ stays readable. */

/** A piece of a name that is cut off by itself. */
export interface NamePart {
  readonly text: string;
  /** "alike" is cut off first, "seed" never. */
  readonly kind: 'alike' | 'own' | 'seed';
}

const SEEDED = /^(.+)(\sseed \d+.*)$/;

/** The words that all names with a seed have before it; names that a user has given have none. */
export function wordsAlike(names: readonly string[]): ReadonlySet<string> {
  const heads = names.flatMap(name => SEEDED.exec(name)?.[1] ?? []);
  const [first = [], ...others] = [...new Set(heads)].map(head => head.split(/\s+/));
  return new Set(first.filter(word => others.every(words => words.includes(word))));
}

/** A name in its parts, in order: neighbouring words alike are one, each other word is its own. */
export function nameParts(name: string, alike: ReadonlySet<string>): NamePart[] {
  const [, head = name, tail] = SEEDED.exec(name) ?? [];
  const parts: { text: string; kind: NamePart['kind'] }[] = [];
  for (const text of head.match(/\s*\S+/g) ?? []) {
    const last = parts.at(-1);
    const kind = alike.has(text.trim()) ? 'alike' : 'own';
    if (kind === 'alike' && last?.kind === kind) last.text += text;
    else parts.push({ text, kind });
  }
  return tail ? [...parts, { text: tail, kind: 'seed' }] : parts;
}

/** A name without these words. */
export function withoutWords(name: string, alike: ReadonlySet<string>): string {
  const parts = nameParts(name, alike).filter(({ kind }) => kind !== 'alike');
  return parts
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** At most so many characters: the middle is left out, since names differ at both ends. */
export function shortened(text: string, most: number): string {
  const end = Math.floor((most - 1) / 2);
  return text.length > most ? `${text.slice(0, most - 1 - end)}…${text.slice(-end)}` : text;
}
