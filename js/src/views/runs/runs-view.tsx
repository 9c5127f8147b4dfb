/** The table of runs with its search, filter, columns, tool bar, and message if it is empty. */

import { type ReactNode, useEffect, useRef, useSyncExternalStore } from 'react';

import { integerText } from '../../shared/numbers.ts';
import type { RunEntry } from '../../shared/run-source.ts';
import { useWidth } from '../use-size.ts';
import { HYPERPARAMETER } from './columns.ts';
import { FACETS, filterProblem, isActive, NO_FILTER, toggled } from './filter.ts';
import { Icon } from './icons.tsx';
import { FilterMenu, facetText, ViewMenu } from './menus.tsx';
import type { Action } from './run-actions.ts';
import type { RunTable } from './run-table.ts';
import { countsText } from './run-text.ts';
import { RunsGrid } from './runs-grid.tsx';
import { selectedTargets, type Target } from './targets.ts';
import './runs.css';
import { trans } from '../translation.ts';

const COMPACT_BELOW = 640;
const CLOCK_MS = 10_000;

interface RunsViewProps {
  readonly table: RunTable;
  /** The buttons of the tool bar. */
  readonly actions: readonly Action[];
  readonly onOpen: (runs: readonly RunEntry[]) => void;
  /** By store: why its runs are read-only. */
  readonly readOnly: ReadonlyMap<string, string>;
  /** Sentences below the table. */
  readonly notices?: readonly string[];
  /** Shown in place of the table if there is no run. */
  readonly empty: ReactNode;
  /** Shown above everything, such as the selection of a store. */
  readonly children?: ReactNode;
}

export function RunsView(props: RunsViewProps) {
  const { table, actions, readOnly, notices = [] } = props;
  const snapshot = useSyncExternalStore(table.subscribe, () => table.snapshot);
  const box = useRef<HTMLDivElement>(null);
  const compact = useWidth(box) < COMPACT_BELOW;
  useEffect(() => {
    const clock = setInterval(() => document.hidden || table.refresh(), CLOCK_MS);
    return () => clearInterval(clock);
  }, [table]);
  const problem = problemOf(props);
  const targets = selectedTargets(table);
  const only = readOnly.size === table.sources.length ? [...readOnly.values()][0] : undefined;
  return (
    <div ref={box} className={`mosaic-runs ${compact ? 'mosaic-mod-narrow' : ''}`}>
      {props.children}
      {snapshot.total > 0 && (
        <>
          <div className="mosaic-runs-tools">
            <Search table={table} text={snapshot.filter.text} invalid={problem !== ''} />
            <FilterMenu table={table} snapshot={snapshot} />
            <ViewMenu table={table} snapshot={snapshot} />
          </div>
          {problem && (
            <p className="mosaic-runs-problem" role="status">
              {problem}
            </p>
          )}
          <Chosen {...props} />
          <div className="mosaic-runs-tools mosaic-mod-actions">
            <output className="mosaic-dim">{selectionText(props)}</output>
            <div role="toolbar" aria-label={trans.__('Selected runs')} aria-orientation="horizontal">
              {actions.map(action => (
                <ActionButton key={action.label} action={action} targets={targets} />
              ))}
            </div>
          </div>
        </>
      )}
      <Body {...props} compact={compact} />
      {/* Below the table: a notice that comes or goes must not move lines under the pointer. */}
      {[...new Set([...notices, ...(only ? [only] : [])])].map(notice => (
        <p key={notice} className="mosaic-runs-notice" role="note">
          {notice === only && <Icon name="lock" />}
          <span>{notice === only ? `${trans.__('Read-only.')} ${notice}` : notice}</span>
        </p>
      ))}
    </div>
  );
}

/** The problem with the search. */
function problemOf({ table }: RunsViewProps): string {
  const { filter, available } = table.snapshot;
  const names = available.flatMap(({ id, title }) => (id.startsWith(HYPERPARAMETER) ? [title] : []));
  return filterProblem(filter.text, names);
}

function selectionText({ table }: RunsViewProps): string {
  const selected = table.selected.length;
  return selected > 1 ? trans.__('%1 selected', integerText(selected)) : countsText(table.snapshot.counts);
}

function Body(props: RunsViewProps & { compact: boolean }) {
  const { table, compact, readOnly, onOpen } = props;
  const { snapshot } = table;
  if (snapshot.total === 0) {
    return snapshot.loaded ? props.empty : <p className="mosaic-runs-empty">{trans.__('Reading runs …')}</p>;
  }
  if (snapshot.found === 0) {
    return (
      <div className="mosaic-runs-empty">
        <p>{trans.__('No run matches.')}</p>
        <button
          type="button"
          className="mosaic-runs-button mosaic-mod-text"
          onClick={() => table.setFilter(NO_FILTER)}
        >
          {trans.__('Clear the filter')}
        </button>
        <p className="mosaic-dim">
          {trans.__(
            'Words are searched for in names, ids, states, workers, algorithms, environments, tags and notes. Also possible:'
          )}{' '}
          <code>learning_rate&lt;0.001</code>, <code>last_return&gt;200</code>, <code>seed=3</code>,{' '}
          <code>-dqn</code>.
        </p>
      </div>
    );
  }
  return (
    <RunsGrid
      table={table}
      snapshot={snapshot}
      compact={compact}
      label={trans.__('Runs')}
      readOnly={readOnly}
      onOpen={onOpen}
    />
  );
}

function Search(props: { table: RunTable; text: string; invalid: boolean }) {
  const { table, text, invalid } = props;
  const set = (value: string) => table.setFilter({ ...table.snapshot.filter, text: value });
  return (
    <div className="mosaic-runs-search">
      <Icon name="search" />
      <input
        type="search"
        value={text}
        placeholder={trans.__('Search, or lr=0.001')}
        aria-label={trans.__('Search runs')}
        aria-invalid={invalid}
        spellCheck={false}
        onChange={event => set(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Escape' && text) {
            event.stopPropagation();
            set('');
          }
        }}
      />
    </div>
  );
}

/** The selected values of facets, each with a button that removes it. */
function Chosen({ table }: RunsViewProps) {
  const { filter } = table.snapshot;
  const chosen = FACETS.flatMap(facet => (filter.facets[facet] ?? []).map(value => ({ facet, value })));
  if (!isActive({ ...filter, text: '' })) return null;
  return (
    <div className="mosaic-runs-chosen">
      {chosen.map(({ facet, value }) => {
        const text = facetText(facet, value);
        return (
          <button
            key={`${facet} ${value}`}
            type="button"
            className="mosaic-runs-tag"
            aria-label={trans.__('Remove the filter %1', text)}
            onClick={() => table.setFilter(toggled(filter, facet, value))}
          >
            {text}
            <Icon name="close" />
          </button>
        );
      })}
    </div>
  );
}

/** A disabled button still gives the reason, to the pointer and to screen readers. */
function ActionButton({ action, targets }: { action: Action; targets: readonly Target[] }) {
  const whyNot = action.whyNot(targets);
  const text = whyNot ? `${action.label}: ${whyNot}` : action.label;
  return (
    <button
      type="button"
      className="mosaic-runs-button"
      title={text}
      aria-label={text}
      aria-disabled={whyNot !== ''}
      onClick={() => whyNot || action.run(targets)}
    >
      <Icon name={action.icon} />
    </button>
  );
}
