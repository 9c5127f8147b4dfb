/** Which lines are selected, and where the keyboard is: like a file manager's. */

import type { RunEntry } from './run-rows.ts';
import type { Line } from './tree.ts';

export interface Selection {
  /** The keys of the selected lines, whether or not they are shown. */
  readonly keys: ReadonlySet<string>;
  /** The line that the keyboard is on. */
  readonly focus: string | null;
  /** Where a range with Shift begins. */
  readonly anchor: string | null;
}

export const NOTHING_SELECTED: Selection = { keys: new Set(), focus: null, anchor: null };

export interface Modifiers {
  readonly shift?: boolean;
  /** Ctrl, or Command. */
  readonly toggle?: boolean;
}

/** After a click on a line, or a key that chooses it. */
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
    if (!keys.delete(key)) {
      keys.add(key);
    }
    return { keys, focus: key, anchor: key };
  }
  return { keys: new Set([key]), focus: key, anchor: key };
}

/** After a right click: what is selected stays so when the line is a part of it. */
export function chosenForMenu(selection: Selection, lines: readonly Line[], key: string): Selection {
  return selection.keys.has(key) ? { ...selection, focus: key } : chosen(selection, lines, key);
}

/** The line to which a key moves, or null where it is not such a key; `page`: lines in sight. */
export function target(
  selection: Selection,
  lines: readonly Line[],
  key: string,
  page: number
): string | null {
  if (!lines.length) {
    return null;
  }
  const at = lines.findIndex(line => line.key === selection.focus);
  const last = lines.length - 1;
  const places: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at < 0 ? 0 : at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: last
  };
  const place = places[key];
  return place === undefined ? null : (lines[Math.min(last, Math.max(0, place))]?.key ?? null);
}

/** The next line, after the focus and around, whose title begins with what was typed. */
export function typedTarget(selection: Selection, lines: readonly Line[], typed: string): string | null {
  const at = lines.findIndex(line => line.key === selection.focus);
  // One letter goes on to the next line; more letters may still mean the same one.
  const begin = typed.length > 1 ? Math.max(at, 0) : at + 1;
  const inOrder = [...lines.slice(begin), ...lines.slice(0, begin)];
  return inOrder.find(line => line.title.toLowerCase().startsWith(typed.toLowerCase()))?.key ?? null;
}

/** The line above in the tree: the group, the training or the store that a line belongs to. */
export function parentOf(lines: readonly Line[], key: string): string | null {
  const at = lines.findIndex(line => line.key === key);
  const depth = lines[at]?.depth ?? 0;
  return lines.slice(0, Math.max(at, 0)).findLast(line => line.depth < depth)?.key ?? null;
}

/**
 * The selection after the lines have changed. What is selected stays so by its key, also while its line is not there: it may
 * be read again, filtered or below a closed line. The focus goes to the line that has taken the place of its own.
 */
export function kept(selection: Selection, before: readonly Line[], lines: readonly Line[]): Selection {
  const { focus, anchor } = selection;
  if (focus === null || !lines.length || lines.some(line => line.key === focus)) {
    return selection;
  }
  const place = before.findIndex(line => line.key === focus);
  const next = lines[Math.min(Math.max(place, 0), lines.length - 1)]?.key ?? null;
  return { ...selection, focus: next, anchor: anchor === focus ? next : anchor };
}

/** The runs of the selected lines, each once; of a group all that are shown. */
export function selectedRuns(selection: Selection, lines: readonly Line[]): RunEntry[] {
  const found = new Map<string, RunEntry>();
  for (const line of lines) {
    if (line.kind !== 'store' && selection.keys.has(line.key)) {
      for (const entry of line.members) {
        found.set(entry.key, entry);
      }
    }
  }
  return [...found.values()];
}

function between(lines: readonly Line[], from: string, to: string): string[] {
  const places = [from, to].map(key => lines.findIndex(line => line.key === key));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  return first < 0 ? [to] : lines.slice(first, last + 1).map(line => line.key);
}
