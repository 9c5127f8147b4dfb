/** The runs of a workspace: colour, visibility, name, results, differing settings. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { settingText } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { RunName } from '../runs/run-name.tsx';
import { trans } from '../translation.ts';
import { fittingWidth, useWidth } from '../use-size.ts';
import type { Contents } from './contents.ts';
import { result, resultText, setting } from './settings.ts';
import { showOnly, toggleRun, type WorkspaceState } from './state.ts';

const ROW_PX = 26;
/** Room for what distinguishes a name, such as "sb3 … trial 0 seed 1". */
const MIN_NAME_PX = 180;

interface RunTableProps extends Contents {
  /** The names of the results in the table. */
  readonly shownResults: readonly string[];
}

export function RunTable(props: RunTableProps): ReactNode {
  const { rows, filtered, visible, names, colorOf, results, shownResults, settings } = props;
  const { state, change, onState, link } = props;
  const scroll = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 8
  });
  const nameWidth = useNameWidth(scroll);
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const hidden = new Set(state.hidden);
  const columns = [...shownResults, ...settings];
  const heading = (column: string, text: string, className: string) => (
    <th
      key={column}
      scope="col"
      className={className}
      aria-sort={
        state.sort?.column === column ? (state.sort.descending ? 'descending' : 'ascending') : 'none'
      }
    >
      <button type="button" onClick={() => change({ sort: nextSort(state.sort, column) })} title={text}>
        <span>{text}</span>
        {state.sort?.column === column && <i aria-hidden="true">{state.sort.descending ? '↓' : '↑'}</i>}
      </button>
    </th>
  );
  const count = visible.length;
  return (
    <section
      ref={scroll}
      className="mosaic-charted-scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
      tabIndex={0}
      aria-label={trans.__('Runs')}
    >
      <table
        className="mosaic-charted"
        aria-rowcount={rows.length + 1}
        style={{ '--mosaic-name-width': nameWidth === null ? undefined : `${nameWidth}px` } as CSSProperties}
      >
        <thead>
          <tr>
            <th scope="col" className="mosaic-charted-eye">
              <button
                type="button"
                onClick={() => change({ hidden: hidden.size ? [] : state.runs })}
                aria-label={trans.__('Show all runs or none; %1 of %2 are shown', count, rows.length)}
                title={trans.__('Show all runs or none')}
              >
                <Eye open={count > 0} />
              </button>
            </th>
            {heading('name', trans.__('Name'), 'mosaic-charted-name')}
            {shownResults.map(name => heading(name, resultTitle(name), 'mosaic-numeric'))}
            {settings.map(name => heading(name, name, ''))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {items.map(item => {
            const row = rows[item.index] as RunRow;
            const name = names.get(row.id) ?? row.id;
            const off = hidden.has(row.id);
            const out = filtered.has(row.id);
            return (
              <tr
                key={row.id}
                aria-rowindex={item.index + 2}
                className={off || out ? 'mosaic-charted-off' : ''}
                onMouseEnter={() => link.emphasize(off || out ? null : row.id)}
                onMouseLeave={() => link.emphasize(null)}
              >
                <td className="mosaic-charted-eye">
                  <button
                    type="button"
                    aria-pressed={!off}
                    disabled={out}
                    aria-label={trans.__('Show %1', name)}
                    title={
                      out
                        ? trans.__('Hidden by a filter')
                        : trans.__('Click: show or hide. Alt+click: show only this run')
                    }
                    onClick={({ altKey }) =>
                      onState(before => (altKey ? showOnly : toggleRun)(before, row.id))
                    }
                  >
                    <Eye open={!off && !out} color={colorOf(row.id)} />
                  </button>
                </td>
                <th
                  scope="row"
                  className="mosaic-charted-name"
                  title={`${name}\n${row.state}: ${row.reason}`}
                >
                  <div>
                    {row.alive && <i className="mosaic-alive" role="img" aria-label={trans.__('alive')} />}
                    {row.state === 'failed' && (
                      <i className="mosaic-failed" role="img" aria-label={trans.__('failed')}>
                        !
                      </i>
                    )}
                    <RunName name={name} />
                  </div>
                </th>
                {columns.map((column, i) => {
                  const isResult = i >= shownResults.length;
                  const value = isResult ? setting(row, column) : result(row, column, results);
                  const text = isResult ? settingText(value) : resultText(column, value as number | null);
                  return (
                    <td
                      key={column}
                      className={!isResult || typeof value === 'number' ? 'mosaic-numeric' : ''}
                      title={text}
                    >
                      {text}
                    </td>
                  );
                })}
              </tr>
            );
          })}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </section>
  );
}

/**
 * The width of the column of names at which the visible part of the table ends between two columns; null until
 * the others have been drawn.
 */
function useNameWidth(scroll: RefObject<HTMLElement | null>): number | null {
  const [width, setWidth] = useState<number | null>(null);
  const available = useWidth(scroll);
  useLayoutEffect(() => {
    const heads = [...(scroll.current?.querySelectorAll('thead th') ?? [])];
    const [eye = 0, , ...otherWidths] = heads.map(head => head.getBoundingClientRect().width);
    const next = Math.floor(fittingWidth(available - eye, otherWidths, MIN_NAME_PX));
    if (available > 0 && Math.abs(next - (width ?? 0)) > 1) setWidth(next);
  });
  return width;
}

export function resultTitle(name: string): string {
  const titles: Record<string, string> = {
    last_return: trans.__('last return'),
    best_return: trans.__('best return'),
    duration: trans.__('duration'),
    speed: trans.__('steps/s'),
    step: trans.__('steps'),
    episodes: trans.__('episodes')
  };
  return titles[name] ?? name;
}

/** A dot in the run's colour, or a ring for a hidden run. */
function Eye({ open, color }: { open: boolean; color?: string }): ReactNode {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <circle
        cx="8"
        cy="8"
        r="5"
        fill={open ? (color ?? 'currentColor') : 'none'}
        stroke={color ?? 'currentColor'}
        strokeWidth="1.6"
      />
    </svg>
  );
}

function nextSort(sort: WorkspaceState['sort'], column: string): WorkspaceState['sort'] {
  if (sort?.column !== column) return { column, descending: false };
  return sort.descending ? null : { column, descending: true };
}
