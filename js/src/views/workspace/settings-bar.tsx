/** A bar with the settings shared by all charts of a workspace. */

import { type ReactNode, useState } from 'react';
import { share } from '../../shared/numbers.ts';
import type { Axis } from '../../shared/run-api.ts';
import { axisTitles } from '../charts/ticks.ts';
import { Check, Field, Select, Tool } from '../controls.tsx';
import { Choices, Menu } from '../menu.tsx';
import { trans } from '../translation.ts';
import { TypedRange } from '../typed-range.tsx';
import { useDebounced } from '../use-debounced.ts';
import type { Contents } from './contents.ts';
import type { GroupingNames } from './settings.ts';
import { addChart, type ViewName } from './state.ts';

const SMOOTHING_PAUSE_MS = 150;

interface SettingsBarProps extends Contents {
  readonly grouping: GroupingNames;
  /** Whether films are shown below the charts. */
  readonly films: boolean;
  readonly onFilms: () => void;
  /** Whether there are evaluations, whose exchanges with language models can be read. */
  readonly evaluated: boolean;
}

export function SettingsBar(props: SettingsBarProps): ReactNode {
  const { state, metrics, change, onState, films, onFilms } = props;
  const views: [ViewName, string][] = [
    ['charts', trans.__('Charts')],
    ['parallel', trans.__('Parallel coordinates')],
    ['scatter', trans.__('Scatter')],
    ['difference', trans.__('Difference')],
    ...(props.evaluated ? [['transcript', trans.__('Transcript')] satisfies [ViewName, string]] : [])
  ];
  const zoomed = state.xLimits.some(limit => limit !== null);
  const filters = Object.keys(state.filters);
  return (
    <div className="mosaic-settings" role="toolbar" aria-label={trans.__('Settings of the charts')}>
      <fieldset className="mosaic-segmented">
        <legend className="mosaic-unseen">{trans.__('View')}</legend>
        {views.map(([view, text]) => (
          <button
            key={view}
            type="button"
            aria-pressed={state.view === view}
            onClick={() => change({ view })}
          >
            {text}
          </button>
        ))}
      </fieldset>
      {state.view === 'charts' && (
        <>
          <Field name={trans.__('x')}>
            <Select
              value={state.x}
              options={Object.entries(axisTitles())}
              choose={x => change({ x: x as Axis, xLimits: [null, null] })}
            />
          </Field>
          <Tool
            aria-pressed={state.xLog}
            disabled={state.x === 'time'}
            title={trans.__('Logarithmic x axis')}
            onClick={() => change({ xLog: !state.xLog })}
          >
            {trans.__('log x')}
          </Tool>
          {state.x !== 'time' && (
            <TypedRange
              limits={state.xLimits}
              name={trans.__('x limits')}
              hints={[trans.__('from'), trans.__('to')]}
              scale={state.xLog ? 'log' : 'linear'}
              onChange={xLimits => change({ xLimits })}
            />
          )}
          {zoomed && (
            <Tool
              title={trans.__('Show the whole x axis (or double-click a chart)')}
              onClick={() => change({ xLimits: [null, null] })}
            >
              {trans.__('Reset zoom')}
            </Tool>
          )}
          <Smoothing value={state.smoothing} set={smoothing => change({ smoothing })} />
          <Check
            className="mosaic-field"
            title={trans.__('Leave out values far from the others')}
            checked={state.outliers}
            change={outliers => change({ outliers })}
          >
            <span>{trans.__('Ignore outliers')}</span>
          </Check>
          <Menu label={groupingText(state.groupBy)} className="mosaic-menu-root mosaic-group-by">
            {() => <Grouping {...props} />}
          </Menu>
          <Menu label={trans.__('+ Chart')}>
            {close => (
              <Choices
                names={metrics}
                label={trans.__('Find a metric')}
                empty={trans.__('No metric of these runs matches.')}
                choose={metric => {
                  close();
                  onState(before => addChart(before, metric));
                }}
              />
            )}
          </Menu>
          <Tool
            aria-pressed={films}
            title={trans.__('What the agent did at a point of a chart')}
            onClick={onFilms}
          >
            {trans.__('Films')}
          </Tool>
        </>
      )}
      {filters.length > 0 && (
        <button
          type="button"
          className="mosaic-tool mosaic-filter"
          title={filters.join(', ')}
          onClick={() => change({ filters: {} })}
        >
          {trans._n('Clear %1 filter', 'Clear %1 filters', filters.length)}
        </button>
      )}
    </div>
  );
}

function groupingText(groupBy: readonly string[] | null): string {
  if (!groupBy) return trans.__('Group by …');
  return groupBy.length ? trans.__('Mean by %1', groupBy.join(', ')) : trans.__('Mean of all runs');
}

/** The selection of groups: without any setting, all runs form one group. */
function Grouping({ grouping, state: { groupBy }, change }: SettingsBarProps): ReactNode {
  const [open, setOpen] = useState(() => grouping.others.some(name => groupBy?.includes(name)));
  const toggle = (name: string) => {
    const names = groupBy ?? [];
    const next = names.includes(name) ? names.filter(other => other !== name) : [...names, name];
    change({ groupBy: next.length ? next : null });
  };
  const choice = (name: string) => (
    <Check key={name} checked={groupBy?.includes(name) ?? false} change={() => toggle(name)}>
      <span>{name}</span>
    </Check>
  );
  return (
    <fieldset className="mosaic-grouping">
      <legend>
        {trans.__(
          'The mean of each group, with a 95% interval for five or more runs. Runs of different libraries, algorithms or environments are never averaged.'
        )}
      </legend>
      <Check checked={groupBy?.length === 0} change={all => change({ groupBy: all ? [] : null })}>
        <span>{trans.__('of all runs')}</span>
      </Check>
      <p>{trans.__('for each value of')}</p>
      {grouping.varying.map(choice)}
      {grouping.others.length > 0 && (
        <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
          <summary>{trans._n('%1 other setting', '%1 other settings', grouping.others.length)}</summary>
          {grouping.others.map(choice)}
        </details>
      )}
    </fieldset>
  );
}

/** A slider whose value is applied when it has come to rest. */
function Smoothing(props: { readonly value: number; readonly set: (value: number) => void }): ReactNode {
  const { value, set } = props;
  const [slid, setSlid] = useDebounced(value, set, SMOOTHING_PAUSE_MS);
  return (
    <Field
      name={trans.__('Smooth')}
      title={trans.__('Exponential moving average: the weight of past values')}
    >
      <input
        type="range"
        min={0}
        max={0.99}
        step={0.01}
        value={slid}
        onChange={event => setSlid(Number(event.target.value))}
        data-lm-suppress-shortcuts="true"
      />
      <output>{share(slid)}</output>
    </Field>
  );
}
