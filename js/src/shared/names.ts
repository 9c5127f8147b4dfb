/** Names in limited space: the parts in which they differ remain readable. */

/** A part of a name that is truncated independently. */
export interface NamePart {
  readonly text: string;
  /** "alike" is truncated first, "end" last: a seed, or the end of an id. */
  readonly kind: 'alike' | 'own' | 'end';
}

/** The most characters of an end besides which the words of a name can still be distinguished. */
const MAX_END_CHARS = 12;
/** The most parts of a name that are truncated each. */
const MAX_PARTS = 4;

const ENDED = /^(.+)(\s[a-hjkmnp-z2-9]{4})$/;
const SEEDED = /^(.+)(\sseed \d+.*)$/;

/** The letters that end the id of a run or a group, which distinguish it from all others of its name. */
export function idEnd(id: string): string {
  return id.slice(id.lastIndexOf('-') + 1);
}

/** A group's name without the time of its start; as `group_label` in `mosaic_lab/runs/run_labels.py`. */
export function groupLabel(group: string): string {
  return group.replace(/^\d{8}-\d{6}-/, '');
}

/** The words before the seed that all names with a seed share; empty for names given by users. */
export function wordsAlike(names: readonly string[]): ReadonlySet<string> {
  const heads = names.flatMap(name => SEEDED.exec(name)?.[1] ?? []);
  const [first = [], ...otherHeads] = [...new Set(heads)].map(head => head.split(/\s+/));
  return new Set(first.filter(word => otherHeads.every(words => words.includes(word))));
}

/** The parts of a name in order: adjacent shared words form one part, every other word its own. */
export function nameParts(name: string, common: ReadonlySet<string>): NamePart[] {
  const [, head = name, tail] = SEEDED.exec(name) ?? ENDED.exec(name) ?? [];
  const parts: { text: string; kind: NamePart['kind'] }[] = [];
  for (const text of head.match(/\s*\S+/g) ?? []) {
    const last = parts.at(-1);
    const kind = common.has(text.trim()) ? 'alike' : 'own';
    if (kind === 'alike' && last?.kind === kind) last.text += text;
    else parts.push({ text, kind });
  }
  return tail ? [...parts, { text: tail, kind: 'end' }] : parts;
}

/**
 * The parts of a name that are truncated. A name is cut only once if its end is long, such as " seed 1 (resumed)",
 * or if it has many words.
 */
export function truncatedParts(name: string, common: ReadonlySet<string>): NamePart[] {
  const parts = nameParts(name, common);
  const end = parts.at(-1);
  if (end?.kind !== 'end') return parts.length > MAX_PARTS ? [{ text: name, kind: 'own' }] : parts;
  return !isShortEnd(end) || parts.length > MAX_PARTS + 1
    ? [{ text: name.slice(0, -end.text.length), kind: 'own' }, end]
    : parts;
}

/** Whether a part is an end that is never truncated: the words before it are, to their last letter. */
export function isShortEnd({ kind, text }: NamePart): boolean {
  return kind === 'end' && text.length <= MAX_END_CHARS;
}

/** A name without these words. */
export function withoutWords(name: string, common: ReadonlySet<string>): string {
  const parts = nameParts(name, common).filter(({ kind }) => kind !== 'alike');
  return parts
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** At most this many characters: the middle is omitted, because names differ at both ends. */
export function shortened(text: string, maxLength: number): string {
  const end = Math.floor((maxLength - 1) / 2);
  return text.length > maxLength ? `${text.slice(0, maxLength - 1 - end)}…${text.slice(-end)}` : text;
}
