/** The runs as lines of a tree: stores, groups with their runs, trainings with their dependent runs. */

import { idEnd } from '../../shared/names.ts';
import { settingText } from '../../shared/numbers.ts';
import { compareValues, ordered, type SortValue } from '../../shared/order.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { type RunEntry, runKey } from '../../shared/run-source.ts';
import { trans } from '../translation.ts';
import type { Column } from './columns.ts';
import { trialName } from './run-text.ts';

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

/** The newest first. */
export const NEWEST_FIRST: Sort = { column: 'age', descending: false };

/** The most hyperparameters in a title. */
const MAX_SETTINGS = 2;

/** One line: a store, a group of runs started together, or a run. */
export interface Line {
  readonly kind: 'store' | 'group' | 'run';
  /** Constant while the line exists. */
  readonly key: string;
  readonly store: string;
  readonly depth: number;
  /** The title of a store, or the name of a group or a run. */
  readonly title: string;
  readonly entry: RunEntry | null;
  /** The runs that the line represents; for a group and a store, all that pass the filter. */
  readonly members: readonly RunEntry[];
  /** The id of the newest run that continues this one; or empty. */
  readonly continued: string;
  /** Null if there is nothing to open. */
  readonly open: boolean | null;
  /** The line's position among its siblings, from 1, and their number. */
  readonly place: number;
  readonly siblings: number;
}

interface TreeOptions {
  readonly sort: Sort;
  readonly columns: readonly Column[];
  /** The titles of runs that are not just their names, by key; see `resumedTitles`. */
  readonly titles: ReadonlyMap<string, string>;
  /** The ids of the newest runs that continue others, by the others' keys; see `continuations`. */
  readonly continued: ReadonlyMap<string, string>;
  /** The stores with the titles of their lines, in order; a single store has no line. */
  readonly stores: ReadonlyMap<string, string>;
  /** Whether a line is open, given whether it is a store. */
  readonly isOpen: (key: string, kind: Line['kind']) => boolean;
  /** Whether each run has its own line, without groups and parents. */
  readonly flat: boolean;
  /** Unix seconds. */
  readonly now: number;
}

interface Node extends Pick<Line, 'kind' | 'key' | 'store' | 'title' | 'entry'> {
  readonly members: RunEntry[];
  readonly children: Node[];
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** The displayed lines, in order; `entries` are the runs that pass the filter. */
export function treeLines(entries: readonly RunEntry[], options: TreeOptions): Line[] {
  const { stores, columns, now } = options;
  const { descending } = options.sort;
  const column = columns.find(candidate => candidate.id === options.sort.column);
  const sorted = (nodes: Node[]) =>
    column ? ordered(nodes, node => sortValue(node, column, descending, now), descending) : nodes;
  const lines: Line[] = [];
  const add = (siblings: readonly Node[], depth: number) => {
    siblings.forEach((node, index) => {
      const open = node.children.length ? options.isOpen(node.key, node.kind) : null;
      const { children, ...shown } = node;
      const continued = (node.entry && options.continued.get(node.entry.key)) ?? '';
      lines.push({ ...shown, continued, depth, open, place: index + 1, siblings: siblings.length });
      if (open) add(node.kind === 'store' ? children : sorted(children), depth + 1);
    });
  };
  const sections: Node[] = [];
  for (const [store, title] of stores) {
    const members = entries.filter(entry => entry.store === store);
    const children = sorted(storeNodes(members, options));
    sections.push({ kind: 'store', key: `store\n${store}`, store, title, entry: null, members, children });
  }
  add(sections.length > 1 ? sections : (sections[0]?.children ?? []), 0);
  return lines;
}

/** The top lines of a store, unordered. */
function storeNodes(entries: readonly RunEntry[], { flat, titles }: TreeOptions): Node[] {
  const nodes = new Map(entries.map(entry => [entry.row.id, runNode(entry, titles.get(entry.key))]));
  if (flat) {
    const lines = [...nodes.values()];
    distinguish(lines);
    return lines;
  }
  const rows = new Map(entries.map(({ row }) => [row.id, row]));
  const sizes = new Map<string, number>();
  for (const { row } of entries) {
    if (row.group !== null && !hasParent(row, rows)) sizes.set(row.group, (sizes.get(row.group) ?? 0) + 1);
  }
  const groups = new Map<string, Node>();
  const roots: Node[] = [];
  for (const entry of entries) {
    const { row, store } = entry;
    const node = nodes.get(row.id) as Node;
    if (hasParent(row, rows)) {
      const title = trialName(row) ?? node.title;
      nodes.get(row.parent as string)?.children.push({ ...node, title });
    } else if (row.group !== null && (sizes.get(row.group) ?? 0) > 1) {
      const key = `group\n${runKey(store, row.group)}`;
      let group = groups.get(key);
      if (!group) {
        group = { kind: 'group', key, store, title: row.group, entry: null, members: [], children: [] };
        groups.set(key, group);
        roots.push(group);
      }
      group.members.push(entry);
      group.children.push(node);
    } else {
      roots.push(node);
    }
  }
  for (const group of groups.values()) nameGroup(group);
  distinguish(roots);
  return roots;
}

/** Name a group by the common prefix of its runs' labels, and each run by the rest or by the user's name. */
function nameGroup(group: Writable<Node>): void {
  const names = group.members.map(({ row }) => row.label.split(/\s+/));
  const [first = []] = names;
  const differs = first.findIndex((word, index) => names.some(words => words[index] !== word));
  const end = differs < 0 ? first.length - 1 : differs;
  const common = first.slice(0, first[end - 1] === 'seed' ? end - 1 : end);
  if (common.length) {
    group.title = common.join(' ');
    for (const child of group.children as Writable<Node>[]) {
      if (child.entry && child.title === child.entry.row.label) {
        child.title = child.title.split(/\s+/).slice(common.length).join(' ');
      }
    }
  }
}

/**
 * Extend equal titles, unless given by users, by at most `MAX_SETTINGS` hyperparameters if these distinguish
 * them, all others by the ends of their ids. `lab.run` accepts these titles.
 */
function distinguish(nodes: readonly Writable<Node>[]): void {
  const named = nodes.filter(({ entry, title }) => entry === null || title === entry.row.label);
  for (const namesakes of Map.groupBy(named, node => node.title).values()) {
    const settings = namesakes.map(({ members }) => members[0]?.row.hyperparameters ?? {});
    const [first = {}] = settings;
    const names = [...new Set(settings.flatMap(Object.keys))]
      .filter(name => settings.some(other => settingText(other[name]) !== settingText(first[name])))
      .slice(0, MAX_SETTINGS);
    const texts = settings.map(values => names.map(name => `${name}=${settingText(values[name])}`).join(' '));
    namesakes.forEach((node, index) => {
      const text = texts[index];
      if (text && texts.indexOf(text) === texts.lastIndexOf(text)) node.title = `${node.title} ${text}`;
    });
  }
  for (const namesakes of Map.groupBy(nodes, node => node.title).values()) {
    if (namesakes.length < 2) continue;
    for (const node of namesakes) {
      node.title = `${node.title} ${idEnd(node.entry?.row.id ?? node.members[0]?.row.group ?? '')}`;
    }
  }
}

function runNode(entry: RunEntry, title = entry.row.name): Node {
  const { key, store } = entry;
  return { kind: 'run', key, store, title, entry, members: [entry], children: [] };
}

/**
 * A title for each resumed run, which has the name of the run that it continues. Those of the same name are
 * numbered in order of their start, as `lab.run` accepts them.
 */
export function resumedTitles(entries: readonly RunEntry[]): Map<string, string> {
  const counts = new Map<string, number>();
  const titles = new Map<string, string>();
  const resumed = entries.filter(({ row }) => row.continues !== null);
  for (const { key, store, row } of resumed.toSorted((a, b) => (a.row.created ?? 0) - (b.row.created ?? 0))) {
    const name = runKey(store, row.name);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const title =
      count === 1 ? trans.__('%1 (resumed)', row.name) : trans.__('%1 (resumed %2)', row.name, `${count}`);
    titles.set(key, title);
  }
  return titles;
}

/** The id of the newest run that continues another, by the key of the other. */
export function continuations(entries: readonly RunEntry[]): Map<string, string> {
  const resumed = entries.filter(({ row }) => row.continues !== null);
  const inOrder = resumed.toSorted((a, b) => (a.row.created ?? 0) - (b.row.created ?? 0));
  return new Map(inOrder.map(({ store, row }) => [runKey(store, row.continues as string), row.id]));
}

/** Whether a run's line is below another existing run's; broken run folders may refer to each other. */
function hasParent(row: RunRow, rows: ReadonlyMap<string, RunRow>): boolean {
  const above = new Set([row.id]);
  let next = row.parent;
  while (next !== null) {
    const parent = rows.get(next);
    if (!parent) break;
    if (above.has(parent.id)) return false;
    above.add(parent.id);
    next = parent.parent;
  }
  return above.size > 1;
}

/** A group is placed where its first run would be. */
function sortValue({ members }: Node, column: Column, descending: boolean, now: number): SortValue {
  const values = members.map(({ row }) => column.sort(row, now));
  return values.reduce(
    (best, next) => (compareValues(next, best, descending) < 0 ? next : best),
    values[0] ?? null
  );
}

/** The shortest distinctive ends of paths. */
export function storeTitles(paths: readonly string[]): Map<string, string> {
  const parts = new Map(paths.map(path => [path, path.split('/').filter(Boolean)]));
  const end = (path: string, length: number) => parts.get(path)?.slice(-length).join('/') || path;
  return new Map(
    paths.map(path => {
      const parentDepth = parts.get(path)?.length ?? 1;
      let length = 1;
      while (
        length < parentDepth &&
        paths.some(other => other !== path && end(other, length) === end(path, length))
      ) {
        length += 1;
      }
      return [path, end(path, length)];
    })
  );
}
