/** The menus below the search field: facets to filter by, columns and their order. */

import type { ReactNode } from 'react';
import type { RunKind, RunState } from '../../shared/run-api.ts';
import { Check, Select } from '../controls.tsx';
import { Menu } from '../menu.tsx';
import { trans } from '../translation.ts';
import { HYPERPARAMETER } from './columns.ts';
import { FACETS, type Facet, type Filter, facetCounts, toggled } from './filter.ts';
import { Icon, type IconName } from './icons.tsx';
import type { RunTable, Snapshot } from './run-table.ts';
import { kindText, stateText } from './run-text.ts';

interface IconMenuProps {
  readonly label: string;
  readonly icon: IconName;
  /** Number of its settings in effect. */
  readonly count?: number;
  readonly children: () => ReactNode;
}

function IconMenu({ label, icon, count = 0, children }: IconMenuProps) {
  return (
    <Menu
      label={
        <>
          <Icon name={icon} />
          {count > 0 && <span className="mosaic-runs-badge">{count}</span>}
        </>
      }
      name={count ? `${label} (${count})` : label}
      className="mosaic-runs-menu"
      buttonClass={`mosaic-runs-button ${count > 0 ? 'mosaic-mod-on' : ''}`}
      popupClass="mosaic-runs-box"
    >
      {children}
    </Menu>
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
    <IconMenu label={trans.__('Filter')} icon="filter" count={chosen}>
      {() => <Facets table={table} filter={filter} />}
    </IconMenu>
  );
}

function Facets({ table, filter }: { table: RunTable; filter: Filter }) {
  const counts = facetCounts(
    table.entries.map(({ row }) => row),
    filter
  );
  const titles = facetTitles();
  return FACETS.map(facet => {
    const values = [...(counts.get(facet) ?? [])].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
    const chosen = filter.facets[facet] ?? [];
    if (values.length < 2 && !chosen.length) return null;
    return (
      <fieldset key={facet}>
        <legend>{titles[facet]}</legend>
        {values.map(([value, count]) => (
          <Check
            key={value}
            data-none={count === 0 || undefined}
            checked={chosen.includes(value)}
            change={() => table.setFilter(toggled(filter, facet, value))}
          >
            <span className="mosaic-runs-label">{facetText(facet, value)}</span>
            <span className="mosaic-dim">{count}</span>
          </Check>
        ))}
      </fieldset>
    );
  });
}

function facetTitles(): Readonly<Record<Facet, string>> {
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
  const column = (isHyperparameter: boolean) =>
    available
      .filter(
        candidate => candidate.id.startsWith(HYPERPARAMETER) === isHyperparameter && candidate.id !== 'name'
      )
      .map(candidate => (
        <Check
          key={candidate.id}
          checked={columns.includes(candidate.id)}
          change={visible => table.showColumn(candidate.id, visible)}
        >
          <span className="mosaic-runs-label">{candidate.title}</span>
        </Check>
      ));
  const hyperparameters = column(true);
  return (
    <IconMenu label={trans.__('Order and columns')} icon="columns">
      {() => (
        <>
          <fieldset>
            <legend>{trans.__('Order')}</legend>
            <div className="mosaic-runs-order">
              <Select
                className=""
                aria-label={trans.__('Sort by')}
                value={sort.column}
                options={available.map(candidate => [candidate.id, candidate.title])}
                choose={column => table.sortBy(column)}
              />
              <button
                type="button"
                className="mosaic-runs-button mosaic-mod-text"
                onClick={() => table.sortBy(sort.column)}
              >
                {sort.descending ? trans.__('descending') : trans.__('ascending')}
              </button>
            </div>
            <Check checked={!flat} change={grouped => table.setFlat(!grouped)}>
              <span>{trans.__('Group runs that were started together')}</span>
            </Check>
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
    </IconMenu>
  );
}
