/**
 * The lines of a table of runs; only visible lines are in the page. An ARIA treegrid with absolutely
 * positioned rows, which `<table>` does not allow. The grid has the focus, handles all keys, and names its
 * row by `aria-activedescendant`. `biome.json` therefore turns off four rules here.
 */

import { defaultRangeExtractor, useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef
} from 'react';
import { wordsAlike } from '../../shared/names.ts';
import type { RunEntry } from '../../shared/run-source.ts';
import { trans } from '../translation.ts';
import { fittingWidth, useWidth } from '../use-size.ts';
import type { Column } from './columns.ts';
import { Icon } from './icons.tsx';
import { RunLine } from './run-line.tsx';
import { WordsAlike } from './run-name.tsx';
import type { RunTable, Snapshot } from './run-table.ts';
import type { Line, Sort } from './tree.ts';

const COMPACT_HEIGHT = 40;
const LINE_HEIGHT = 26;
const HEADER_HEIGHT = 26;
const MIN_NAME_PX = 240;

interface RunsGridProps {
  readonly table: RunTable;
  readonly snapshot: Snapshot;
  readonly compact: boolean;
  readonly label: string;
  /** By store: why its runs are read-only. */
  readonly readOnly: ReadonlyMap<string, string>;
  readonly onOpen: (runs: readonly RunEntry[]) => void;
}

export function RunsGrid({ table, snapshot, compact, label, readOnly, onOpen }: RunsGridProps) {
  const { lines, selection, shown } = snapshot;
  const common = useMemo(() => {
    const tops = lines.filter(({ depth }) => depth === 0);
    return wordsAlike(tops.flatMap(({ members }) => members.map(({ row }) => row.name)));
  }, [lines]);
  const grid = useRef<HTMLDivElement>(null);
  const available = useWidth(grid);
  const prefix = useId();
  const focus = lines.findIndex(line => line.key === selection.focus);
  const header = compact ? 0 : HEADER_HEIGHT;
  const heightOf = (line: Line | undefined) =>
    compact && line?.kind !== 'store' ? COMPACT_HEIGHT : LINE_HEIGHT;
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => grid.current,
    estimateSize: index => heightOf(lines[index]),
    getItemKey: index => lines[index]?.key ?? index,
    overscan: 4,
    scrollPaddingStart: header,
    // The focused line stays in the page, for aria-activedescendant.
    rangeExtractor: range => {
      const indices = defaultRangeExtractor(range);
      return focus < 0 || indices.includes(focus) ? indices : [...indices, focus].sort((a, b) => a - b);
    }
  });

  useEffect(() => virtual.measure(), [compact, lines.length]);
  useEffect(() => {
    grid.current?.scrollTo({ top: 0 });
  }, [snapshot.filter, snapshot.sort]);
  useEffect(() => {
    if (focus >= 0) virtual.scrollToIndex(focus, { align: 'auto' });
  }, [focus, virtual]);

  const click = useCallback(
    (line: Line, event: MouseEvent) => {
      if (event.type === 'contextmenu') table.clickForMenu(line.key);
      else table.click(line.key, { shift: event.shiftKey, toggle: event.ctrlKey || event.metaKey });
    },
    [table]
  );
  const toggle = useCallback((line: Line) => table.toggle(line.key), [table]);
  const open = useCallback(
    (line: Line) => (line.kind === 'run' ? onOpen(table.selected) : table.toggle(line.key)),
    [table, onOpen]
  );
  const press = (event: KeyboardEvent) => {
    if (event.altKey) return;
    const line = lines[focus];
    const page = Math.max(1, Math.floor((grid.current?.clientHeight ?? 0) / heightOf(line)) - 2);
    if (event.key === 'Enter' && line) {
      if (!selection.keys.has(line.key)) table.click(line.key, {});
      open(line);
    } else if (
      !table.press(event.key, { shift: event.shiftKey, toggle: event.ctrlKey || event.metaKey }, page)
    ) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const items = virtual.getVirtualItems();
  const slots = useRef(0);
  slots.current = Math.max(slots.current, items.length);
  // Scrolling reuses lines with other content, which is cheaper than new ones; the focused line is in
  // addition.
  const slotOf = ({ index }: VirtualItem) =>
    index === focus && items.length > 1 && !items.some(item => Math.abs(item.index - index) === 1)
      ? 'focus'
      : index % slots.current;

  const otherWidths = shown.flatMap(column => (column.id === 'name' ? [] : column.width));
  const name = fittingWidth(available, otherWidths, MIN_NAME_PX);
  const template = shown.map(column => `${column.id === 'name' ? name : column.width}px`);
  const width = otherWidths.reduce((sum, other) => sum + other, name);
  const style = { '--mosaic-runs-columns': template.join(' ') } as CSSProperties;
  return (
    <div
      ref={grid}
      role="treegrid"
      aria-label={label}
      aria-multiselectable="true"
      aria-rowcount={lines.length + 1}
      aria-colcount={compact ? 1 : shown.length}
      aria-activedescendant={focus < 0 ? undefined : idOf(prefix, selection.focus ?? '')}
      tabIndex={0}
      className={`mosaic-runs-grid ${compact ? 'mosaic-mod-compact' : ''}`}
      style={style}
      onKeyDown={press}
      onFocus={() => table.enter()}
    >
      <Header columns={shown} sort={snapshot.sort} table={table} compact={compact} width={width} />
      <div
        role="rowgroup"
        className="mosaic-runs-body"
        style={{ height: virtual.getTotalSize(), minWidth: compact ? undefined : width }}
      >
        <WordsAlike.Provider value={common}>
          {items.map(item => {
            const line = lines[item.index];
            return (
              line && (
                <RunLine
                  key={slotOf(item)}
                  line={line}
                  id={idOf(prefix, line.key)}
                  index={item.index}
                  top={item.start}
                  height={item.size}
                  compact={compact}
                  columns={shown}
                  selected={selection.keys.has(line.key)}
                  focused={item.index === focus}
                  readOnly={line.kind === 'store' ? (readOnly.get(line.store) ?? '') : ''}
                  now={snapshot.now}
                  onClick={click}
                  onToggle={toggle}
                  onOpen={open}
                />
              )
            );
          })}
        </WordsAlike.Provider>
      </div>
    </div>
  );
}

/** An element's id, which must not contain blanks. */
function idOf(prefix: string, key: string): string {
  return prefix + encodeURIComponent(key);
}

interface HeaderProps {
  readonly columns: readonly Column[];
  readonly sort: Sort;
  readonly table: RunTable;
  readonly compact: boolean;
  readonly width: number;
}

/** The column titles; if they are hidden, screen readers still find one. */
function Header({ columns, sort, table, compact, width }: HeaderProps) {
  if (compact) {
    return (
      <div role="rowgroup" className="mosaic-unseen">
        <div role="row" aria-rowindex={1}>
          <span role="columnheader">{trans.__('Run')}</span>
        </div>
      </div>
    );
  }
  return (
    <div role="rowgroup" className="mosaic-runs-header" style={{ minWidth: width }}>
      <div role="row" aria-rowindex={1}>
        {columns.map((column, index) => {
          const sorted = sort.column === column.id;
          return (
            <div
              key={column.id}
              role="columnheader"
              aria-colindex={index + 1}
              aria-sort={sorted ? (sort.descending ? 'descending' : 'ascending') : 'none'}
              className={column.numeric ? 'mosaic-mod-number' : ''}
            >
              <button
                type="button"
                tabIndex={-1}
                title={[column.hint, trans.__('Sort by %1', column.title)].filter(Boolean).join('\n')}
                onClick={() => table.sortBy(column.id)}
              >
                <span>{column.title}</span>
                {sorted && (
                  <Icon name="chevron" className={sort.descending ? 'mosaic-mod-down' : 'mosaic-mod-up'} />
                )}
              </button>
            </div>
          );
        })}
      </div>
    </div>
  );
}
