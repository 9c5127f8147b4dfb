/** The state of a table of runs, its lines, order and selection: views render its snapshots. */

import type { RunEntry, RunSource } from '../../shared/run-source.ts';
import { type Column, DEFAULT_COLUMNS, hyperparameterColumns, standardColumns } from './columns.ts';
import { FACETS, type Filter, isActive, matches, NO_FILTER } from './filter.ts';
import { type Counts, isRun } from './run-text.ts';
import {
  chosen,
  chosenForMenu,
  keptSelection,
  type Modifiers,
  NOTHING_SELECTED,
  parentOf,
  type Selection,
  selectedRuns,
  target,
  typedTarget
} from './selection.ts';
import {
  continuations,
  type Line,
  NEWEST_FIRST,
  resumedTitles,
  type Sort,
  storeTitles,
  treeLines
} from './tree.ts';

/** The part of a table's state kept over reloads of the page. */
interface SavedTable {
  readonly columns: readonly string[];
  readonly sort: Sort;
  readonly flat: boolean;
  readonly filter: Filter;
  /** The lines that the user has opened or closed, by key. */
  readonly opened: Readonly<Record<string, boolean>>;
}

export interface Snapshot extends SavedTable {
  readonly lines: readonly Line[];
  /** The titles of resumed runs, by key. */
  readonly titles: ReadonlyMap<string, string>;
  readonly selection: Selection;
  /** All columns. */
  readonly available: readonly Column[];
  /** The displayed columns. */
  readonly shown: readonly Column[];
  /** All entries: runs, films and comparisons. */
  readonly total: number;
  /** All entries that pass the filter. */
  readonly found: number;
  readonly counts: Counts;
  readonly loaded: boolean;
  /** Unix seconds. */
  readonly now: number;
}

const TYPE_AHEAD_MS = 800;
const MAX_REMEMBERED = 500;

export class RunTable {
  /** The state to store. */
  saved = validated(null);

  /** `clock`: Unix seconds. */
  constructor(clock: () => number = () => Date.now() / 1000) {
    this._clock = clock;
    this._standard = standardColumns();
  }

  /** Follow exactly these stores, in this order. */
  setSources(sources: readonly RunSource[]): void {
    const before = this._followed;
    this._followed = new Map(
      sources.map(source => [source, before.get(source) ?? source.subscribe(() => this._update())])
    );
    for (const [source, end] of before) if (!this._followed.has(source)) end();
    this._update();
  }

  get sources(): readonly RunSource[] {
    return [...this._followed.keys()];
  }

  /** All runs, store by store. */
  get entries(): readonly RunEntry[] {
    this._entries ??= this.sources.flatMap(({ runs }) => [...(runs?.values() ?? [])]);
    return this._entries;
  }

  get snapshot(): Snapshot {
    this._snapshot ??= this._made();
    return this._snapshot;
  }

  /** The selected runs, in the order of their lines. */
  get selected(): readonly RunEntry[] {
    return selectedRuns(this.snapshot.selection, this.snapshot.lines);
  }

  /** Call `listener` when there is a new snapshot. Returns a function that ends the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  };

  close(): void {
    this._listeners.clear();
    this.setSources([]);
  }

  /** Restore a stored state, as far as it is valid. */
  restore(saved: unknown): void {
    this.saved = validated(saved);
    this.refresh();
  }

  setFilter(filter: Filter): void {
    this._change({ filter });
  }

  setFlat(flat: boolean): void {
    this._change({ flat });
  }

  /** Sort by a column; reverse the order if the table is already sorted by it. */
  sortBy(column: string): void {
    const { sort } = this.saved;
    const numeric = this.snapshot.available.find(candidate => candidate.id === column)?.numeric ?? false;
    const descending = sort.column === column ? !sort.descending : numeric && column !== 'age';
    this._change({ sort: { column, descending } });
  }

  showColumn(id: string, visible: boolean): void {
    const columns = this.saved.columns.filter(column => column !== id);
    this._change({ columns: visible ? [...columns, id] : columns });
  }

  /** Open or close a line; without `open`, toggle it. */
  toggle(key: string, open?: boolean): void {
    const line = this.snapshot.lines.find(candidate => candidate.key === key);
    if (line && line.open !== null) {
      const opened = Object.entries(this.saved.opened).filter(([other]) => other !== key);
      const all = [...opened, [key, open ?? !line.open] as const];
      this._change({ opened: Object.fromEntries(all.slice(-MAX_REMEMBERED)) });
    }
  }

  click(key: string, modifiers: Modifiers): void {
    this._select(chosen(this.snapshot.selection, this.snapshot.lines, key, modifiers));
  }

  clickForMenu(key: string): void {
    this._select(chosenForMenu(this.snapshot.selection, this.snapshot.lines, key));
  }

  /** Called when the table gets the keyboard focus: focus a line. */
  enter(): void {
    const { selection, lines } = this.snapshot;
    if (selection.focus === null && lines[0]) this._select({ ...selection, focus: lines[0].key });
  }

  /** Handle a key; return whether it has a meaning here. `page`: number of visible lines. */
  press(key: string, { shift = false, toggle = false }: Modifiers, page: number): boolean {
    const { lines, selection } = this.snapshot;
    const line = lines.find(candidate => candidate.key === selection.focus);
    const goal = target(selection, lines, key, page);
    if (goal !== null) {
      // Ctrl moves without selecting; the space bar then selects.
      this._select(
        toggle && !shift ? { ...selection, focus: goal } : chosen(selection, lines, goal, { shift })
      );
    } else if (key === 'a' && toggle) {
      this._select({ ...selection, keys: new Set(lines.map(other => other.key)) });
    } else if (key === 'Escape' && selection.keys.size) {
      this._select({ ...selection, keys: new Set() });
    } else if (key === ' ' && line) {
      this._select(chosen(selection, lines, line.key, { toggle: true }));
    } else if (key === 'ArrowRight' && line) {
      this._goIn(line);
    } else if (key === 'ArrowLeft' && line) {
      this._goOut(line);
    } else if (key.length === 1 && key !== ' ' && !toggle) {
      this._type(key);
    } else {
      return false;
    }
    return true;
  }

  /** Render again: rows have changed, or time has passed. */
  refresh(): void {
    this._snapshot = null;
    this._notify();
  }

  private _goIn(line: Line): void {
    if (line.open === false) {
      this.toggle(line.key, true);
    } else if (line.open) {
      this.press('ArrowDown', {}, 1);
    }
  }

  private _goOut(line: Line): void {
    const above = parentOf(this.snapshot.lines, line.key);
    if (line.open) {
      this.toggle(line.key, false);
    } else if (above !== null) {
      this.click(above, {});
    }
  }

  private _type(letter: string): void {
    const now = this._clock() * 1000;
    this._typed = now - this._typedAt > TYPE_AHEAD_MS ? letter : this._typed + letter;
    this._typedAt = now;
    const { lines, selection } = this.snapshot;
    const goal = typedTarget(selection, lines, this._typed);
    if (goal !== null) this._select(chosen(selection, lines, goal));
  }

  private _change(change: Partial<SavedTable>): void {
    this.saved = { ...this.saved, ...change };
    this.refresh();
  }

  private _select(selection: Selection): void {
    this._snapshot = { ...this.snapshot, selection };
    this._notify();
  }

  private _made(): Snapshot {
    const { columns, sort, flat, filter, opened } = this.saved;
    const { entries, sources } = this;
    const loaded = sources.every(({ runs }) => runs !== null);
    const now = this._clock();
    const available = [...this._standard, ...hyperparameterColumns(entries.map(({ row }) => row))];
    const matching = entries.filter(({ row }) => matches(row, filter));
    const filtered = isActive(filter);
    const titles = resumedTitles(entries);
    const lines = treeLines(matching, {
      sort,
      flat,
      now,
      columns: available,
      titles,
      continued: continuations(entries),
      stores: storeTitles(sources.map(({ store }) => store)),
      isOpen: (key, kind) => opened[key] ?? (kind === 'store' || filtered)
    });
    const selection = loaded ? keptSelection(this._selection, this._lines, lines) : this._selection;
    return {
      ...this.saved,
      lines,
      titles,
      selection,
      available,
      shown: available.filter(column => column.id === 'name' || columns.includes(column.id)),
      total: entries.length,
      found: matching.length,
      counts: {
        runs: entries.filter(isRun).length,
        films: entries.filter(({ row }) => row.kind === 'films').length,
        evaluations: entries.filter(({ row }) => row.kind === 'checkpoint evaluation').length,
        comparisons: entries.filter(({ row }) => row.kind === 'comparison').length,
        matching: matching.filter(isRun).length,
        alive: entries.filter(({ row }) => row.alive).length
      },
      loaded,
      now
    };
  }

  private _update(): void {
    this._entries = null;
    this.refresh();
  }

  private _notify(): void {
    const { selection, lines } = this.snapshot;
    this._selection = selection;
    this._lines = lines;
    for (const listener of [...this._listeners]) listener();
  }

  private readonly _clock: () => number;
  private readonly _standard: readonly Column[];
  /** The ends of the subscriptions. */
  private _followed: ReadonlyMap<RunSource, () => void> = new Map();
  private _entries: readonly RunEntry[] | null = null;
  private readonly _listeners = new Set<() => void>();
  private _snapshot: Snapshot | null = null;
  private _selection: Selection = NOTHING_SELECTED;
  private _lines: readonly Line[] = [];
  private _typed = '';
  private _typedAt = 0;
}

function validated(saved: unknown): SavedTable {
  const table = (typeof saved === 'object' && saved !== null ? saved : {}) as Partial<SavedTable>;
  const facets = table.filter?.facets ?? {};
  return {
    columns: texts(table.columns) ?? DEFAULT_COLUMNS,
    sort:
      typeof table.sort?.column === 'string'
        ? { column: table.sort.column, descending: table.sort.descending === true }
        : NEWEST_FIRST,
    flat: table.flat === true,
    opened: Object.fromEntries(
      Object.entries(table.opened ?? {}).filter(([, isOpen]) => typeof isOpen === 'boolean')
    ),
    filter: {
      text: typeof table.filter?.text === 'string' ? table.filter.text : NO_FILTER.text,
      facets: Object.fromEntries(
        FACETS.flatMap(facet => {
          const values = texts(facets[facet]);
          return values ? [[facet, values]] : [];
        })
      )
    }
  };
}

function texts(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every(item => typeof item === 'string') ? value : null;
}
