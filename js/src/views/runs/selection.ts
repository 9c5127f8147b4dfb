/** The selected lines and the keyboard focus, as in a file manager. */

import type { RunEntry } from '../../shared/run-source.ts';
import type { Line } from './tree.ts';

export interface Selection {
  /** The keys of the selected lines, displayed or not. */
  readonly keys: ReadonlySet<string>;
  /** The line with the keyboard focus. */
  readonly focus: string | null;
  /** The start of a range selected with Shift. */
  readonly anchor: string | null;
}

export const NOTHING_SELECTED: Selection = { keys: new Set(), focus: null, anchor: null };

export interface Modifiers {
  readonly shift?: boolean;
  /** Ctrl or Command. */
  readonly toggle?: boolean;
}

/** The selection after a click on a line, or a key that selects it. */
export function chosen(
  selection: Selection,
  lines: readonly Line[],
  key: string,
  { shift = false, toggle = false }: Modifiers = {}
): Selection {
  if (shift && selection.anchor !== null) {
    const range = between(lines, selection.anchor, key);
    return {
      keys: new Set(toggle ? [...selection.keys, ...range] : range),
      focus: key,
      anchor: selection.anchor
    };
  }
  if (toggle) {
    const keys = new Set(selection.keys);
    if (!keys.delete(key)) keys.add(key);
    return { keys, focus: key, anchor: key };
  }
  return { keys: new Set([key]), focus: key, anchor: key };
}

/** The selection after a right click: kept if the line is part of it. */
export function chosenForMenu(selection: Selection, lines: readonly Line[], key: string): Selection {
  return selection.keys.has(key) ? { ...selection, focus: key } : chosen(selection, lines, key);
}

/** The line to which a key moves, or null for other keys; `page`: number of visible lines. */
export function target(
  selection: Selection,
  lines: readonly Line[],
  key: string,
  page: number
): string | null {
  if (!lines.length) return null;
  const index = lines.findIndex(line => line.key === selection.focus);
  const last = lines.length - 1;
  const targets: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index < 0 ? 0 : index - 1,
    PageDown: index + page,
    PageUp: index - page,
    Home: 0,
    End: last
  };
  const targetIndex = targets[key];
  return targetIndex === undefined ? null : (lines[Math.min(last, Math.max(0, targetIndex))]?.key ?? null);
}

/** The next line whose title begins with the typed text, after the focus and wrapping around. */
export function typedTarget(selection: Selection, lines: readonly Line[], typed: string): string | null {
  const index = lines.findIndex(line => line.key === selection.focus);
  // A single letter moves to the next line; further letters may still match the same line.
  const begin = typed.length > 1 ? Math.max(index, 0) : index + 1;
  const inOrder = [...lines.slice(begin), ...lines.slice(0, begin)];
  return inOrder.find(line => line.title.toLowerCase().startsWith(typed.toLowerCase()))?.key ?? null;
}

/** The parent line in the tree: the group, training or store. */
export function parentOf(lines: readonly Line[], key: string): string | null {
  const index = lines.findIndex(line => line.key === key);
  const depth = lines[index]?.depth ?? 0;
  return lines.slice(0, Math.max(index, 0)).findLast(line => line.depth < depth)?.key ?? null;
}

/**
 * The selection after the lines have changed. Selected lines are kept by key even while they are missing:
 * they may be reloading, filtered or below a closed line. The focus moves to the line that has taken its
 * place.
 */
export function keptSelection(
  selection: Selection,
  before: readonly Line[],
  lines: readonly Line[]
): Selection {
  const { focus, anchor } = selection;
  if (focus === null || !lines.length || lines.some(line => line.key === focus)) return selection;
  const index = before.findIndex(line => line.key === focus);
  const next = lines[Math.min(Math.max(index, 0), lines.length - 1)]?.key ?? null;
  return { ...selection, focus: next, anchor: anchor === focus ? next : anchor };
}

/** The runs of the selected lines, each once; for a group, all that are shown. */
export function selectedRuns(selection: Selection, lines: readonly Line[]): RunEntry[] {
  const entries = new Map<string, RunEntry>();
  for (const line of lines) {
    if (line.kind !== 'store' && selection.keys.has(line.key)) {
      for (const entry of line.members) entries.set(entry.key, entry);
    }
  }
  return [...entries.values()];
}

function between(lines: readonly Line[], from: string, to: string): string[] {
  const ends = [from, to].map(key => lines.findIndex(line => line.key === key));
  const [first, last] = [Math.min(...ends), Math.max(...ends)];
  return first < 0 ? [to] : lines.slice(first, last + 1).map(line => line.key);
}
