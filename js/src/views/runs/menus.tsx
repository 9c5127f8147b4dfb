/** The menus below the search field: facets to filter by, columns and their order. */

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { RunKind, RunState } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import { HYPERPARAMETER } from './columns.ts';
import { FACETS, type Facet, type Filter, facetCounts, toggled } from './filter.ts';
import { Icon, type IconName } from './icons.tsx';
import type { RunTable, Snapshot } from './run-table.ts';
import { kindText, stateText } from './run-text.ts';

interface MenuProps {
  readonly label: string;
  readonly icon: IconName;
  /** Number of its settings in effect. */
  readonly count?: number;
  readonly children: () => ReactNode;
}

/** A button that opens a box; Escape and a click elsewhere close it. */
function Menu({ label, icon, count = 0, children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!open) {
      return;
    }
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent) {
        if (event.key === 'Escape') {
          setOpen(false);
          button.current?.focus();
        }
      } else if (!box.current?.contains(event.target as Node)) {
        setOpen(false);
      }
    };
    document.addEventListener('pointerdown', close);
    document.addEventListener('keydown', close);
    return () => {
      document.removeEventListener('pointerdown', close);
      document.removeEventListener('keydown', close);
    };
  }, [open]);
  return (
    <div className="mosaic-runs-menu" ref={box}>
      <button
        ref={button}
        type="button"
        className="mosaic-runs-button"
        title={label}
        aria-label={count ? `${label} (${count})` : label}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        data-on={count > 0 || undefined}
        onClick={() => setOpen(!open)}
      >
        <Icon name={icon} />
        {count > 0 && <span className="mosaic-runs-badge">{count}</span>}
      </button>
      {open && (
        <div id={id} role="group" aria-label={label} className="mosaic-runs-box">
          {children()}
        </div>
      )}
    </div>
  );
}

interface TableMenuProps {
  readonly table: RunTable;
  readonly snapshot: Snapshot;
}

export function FilterMenu({ table, snapshot }: TableMenuProps) {
  const { filter } = snapshot;
  const chosen = FACETS.reduce((sum, facet) => sum + (filter.facets[facet]?.length ?? 0), 0);
  return (
    <Menu label={trans.__('Filter')} icon="filter" count={chosen}>
      {() => <Facets table={table} filter={filter} />}
    </Menu>
  );
}

function Facets({ table, filter }: { table: RunTable; filter: Filter }) {
  const counts = facetCounts(
    table.rows.entries.map(({ row }) => row),
    filter
  );
  const titles = facetTitles();
  return FACETS.map(facet => {
    const values = [...(counts.get(facet) ?? [])].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
    const chosen = filter.facets[facet] ?? [];
    if (values.length < 2 && !chosen.length) {
      return null;
    }
    return (
      <fieldset key={facet}>
        <legend>{titles[facet]}</legend>
        {values.map(([value, count]) => (
          <label key={value} data-none={count === 0 || undefined}>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={() => table.setFilter(toggled(filter, facet, value))}
            />
            <span className="mosaic-runs-label">{facetText(facet, value)}</span>
            <span className="mosaic-runs-dim">{count}</span>
          </label>
        ))}
      </fieldset>
    );
  });
}

export function facetTitles(): Readonly<Record<Facet, string>> {
  return {
    state: trans.__('State'),
    kind: trans.__('Kind'),
    worker: trans.__('Worker'),
    algorithm: trans.__('Algorithm'),
    env: trans.__('Environment'),
    tags: trans.__('Tag')
  };
}

export function facetText(facet: Facet, value: string): string {
  switch (facet) {
    case 'state':
      return stateText(value as RunState);
    case 'kind':
      return kindText(value as RunKind);
    default:
      return value;
  }
}

export function ViewMenu({ table, snapshot }: TableMenuProps) {
  const { available, columns, sort, flat } = snapshot;
  const id = useId();
  const column = (own: boolean) =>
    available
      .filter(one => one.id.startsWith(HYPERPARAMETER) === own && one.id !== 'name')
      .map(one => (
        <label key={one.id}>
          <input
            type="checkbox"
            checked={columns.includes(one.id)}
            onChange={event => table.showColumn(one.id, event.target.checked)}
          />
          <span className="mosaic-runs-label">{one.title}</span>
        </label>
      ));
  const hyperparameters = column(true);
  return (
    <Menu label={trans.__('Order and columns')} icon="columns">
      {() => (
        <>
          <fieldset>
            <legend>{trans.__('Order')}</legend>
            <div className="mosaic-runs-order">
              <label htmlFor={id} className="mosaic-runs-spoken">
                {trans.__('Sort by')}
              </label>
              <select id={id} value={sort.column} onChange={event => table.sortBy(event.target.value)}>
                {available.map(one => (
                  <option key={one.id} value={one.id}>
                    {one.title}
                  </option>
                ))}
              </select>
              <button
                type="button"
                className="mosaic-runs-button mosaic-mod-text"
                onClick={() => table.sortBy(sort.column)}
              >
                {sort.descending ? trans.__('descending') : trans.__('ascending')}
              </button>
            </div>
            <label>
              <input
                type="checkbox"
                checked={!flat}
                onChange={event => table.setFlat(!event.target.checked)}
              />
              <span>{trans.__('Group runs that were started together')}</span>
            </label>
          </fieldset>
          <fieldset>
            <legend>{trans.__('Columns of the wide table')}</legend>
            {column(false)}
          </fieldset>
          {hyperparameters.length > 0 && (
            <fieldset>
              <legend>{trans.__('Hyperparameters')}</legend>
              {hyperparameters}
            </fieldset>
          )}
        </>
      )}
    </Menu>
  );
}
