/**
 * The chart's tool bar. Every setting is a synced trait: the kernel reads it, and a second view of the same
 * panel follows. Buttons for actions of the kernel increment a counter.
 */

import { useEffect, useRef } from 'react';
import { download } from '../../shared/download.ts';
import { share } from '../../shared/numbers.ts';
import { TypedRange } from '../../views/typed-range.tsx';
import { type Choice, closeOnOutsideClick, type ICONS } from '../common/elements.ts';
import { Button, Icon, Segments, Slider, Swatch } from '../common/parts.tsx';
import { type Model, onChange, type RenderContext, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { Axis, ControlsTraits } from '../messages.ts';
import { choose, grouped } from './metrics.ts';

const AXES: Choice<Axis>[] = [
  { value: 'step', text: 'Steps', hint: 'x axis: steps' },
  { value: 'episode', text: 'Episodes', hint: 'x axis: episodes' },
  { value: 'time', text: 'Time', hint: 'x axis: time' }
];
const LINES: Choice<boolean>[] = [
  { value: false, text: 'Runs', hint: 'One line per run' },
  { value: true, text: 'Mean', hint: 'Mean over runs, with a 95% interval for five or more runs' }
];
const FILES = [
  { counter: 'pngs', text: 'PNG', hint: 'Save the chart as PNG' },
  { counter: 'csvs', text: 'CSV', hint: 'Save all data as CSV' }
] as const;

export function Controls({ model }: RenderContext<ControlsTraits>) {
  const x = useTrait(model, 'x');
  const interval = useTrait(model, 'interval');
  const smoothing = useTrait(model, 'smoothing');
  return (
    <>
      <div className="mosaic-bar">
        <MetricMenu model={model} />
        <Segments label="x axis" choices={AXES} pressed={x} choose={x => send(model, 'x', x)} />
        {!model.get('several') && (
          <Segments
            label="lines"
            choices={LINES}
            pressed={interval}
            choose={mean => send(model, 'interval', mean)}
          />
        )}
        <Slider
          label="Smooth"
          hint="Exponential moving average: the weight of past values"
          {...{ min: 0, max: 0.99, step: 0.01 }}
          value={smoothing}
          text={share(smoothing)}
          slide={weight => send(model, 'smoothing', weight)}
        />
        <Toggle model={model} name="log_axis" title="Logarithmic y axis" text="log" />
        <YLimits model={model} />
        <span className="mosaic-tools">
          <Toggle model={model} name="panning" title="Pan and zoom along x: drag, wheel" icon="pan" />
          <Button
            className="mosaic-button mosaic-icon"
            title="Reset the view"
            onClick={() => raise(model, 'resets')}
          >
            <Icon name="reset" />
          </Button>
          <FileButtons model={model} />
        </span>
      </div>
      <Legend model={model} />
    </>
  );
}

interface ToggleProps {
  readonly model: Model<ControlsTraits>;
  readonly name: 'log_axis' | 'panning';
  readonly title: string;
  readonly text?: string;
  readonly icon?: keyof typeof ICONS;
}

function Toggle({ model, name, title, text, icon }: ToggleProps) {
  const on = useTrait(model, name);
  return (
    <Button
      className={`mosaic-button mosaic-toggle${icon ? ' mosaic-icon' : ''}`}
      title={title}
      aria-pressed={on}
      onClick={() => send(model, name, !on)}
    >
      {icon && <Icon name={icon} />}
      {text}
    </Button>
  );
}

function raise(model: Model<ControlsTraits>, counter: 'resets' | 'pngs' | 'csvs'): void {
  send(model, counter, model.get(counter) + 1);
}

/** Only the view whose button was pressed saves the file sent by the kernel. */
function FileButtons({ model }: { model: Model<ControlsTraits> }) {
  const requested = useRef(false);
  useEffect(() => {
    const save = () => {
      const { name, data } = model.get('download');
      if (!requested.current || !name) return;
      requested.current = false;
      download(name, data);
    };
    onChange(model, ['download'], save);
    return () => model.off('change:download', save);
  }, [model]);
  return FILES.map(({ counter, text, hint }) => (
    <Button
      key={counter}
      title={hint}
      onClick={() => {
        requested.current = true;
        raise(model, counter);
      }}
    >
      <Icon name="save" />
      {text}
    </Button>
  ));
}

function Legend({ model }: { model: Model<ControlsTraits> }) {
  const entries = useTrait(model, 'legend');
  const hidden = useTrait(model, 'hidden');
  const waiting = useTrait(model, 'waiting');
  const smoothed = useTrait(model, 'smoothing') > 0;
  const averaged = useTrait(model, 'interval');
  const toggle = (key: string) => {
    const otherHidden = hidden.filter(other => other !== key);
    send(model, 'hidden', otherHidden.length < hidden.length ? otherHidden : [...hidden, key]);
  };
  return (
    <>
      <div className="mosaic-legend">
        {entries.map(({ key, label, color, value, state }) => (
          <Button
            key={key}
            className="mosaic-legend-item"
            title={`${hidden.includes(key) ? 'Show' : 'Hide'} ${label}`}
            aria-pressed={!hidden.includes(key)}
            onClick={() => toggle(key)}
          >
            <Swatch color={color} />
            <span className="mosaic-legend-label">{label}</span>
            <b className="mosaic-value">{value}</b>
            <span className={`mosaic-chip mosaic-${state}`} hidden={state === ''}>
              {state}
            </span>
          </Button>
        ))}
      </div>
      <span className="mosaic-waiting">{waiting}</span>
      <span className="mosaic-legend-kind" hidden={entries.length === 0}>
        {`last values, ${smoothed ? 'smoothed' : averaged ? 'averages' : 'raw'}`}
      </span>
    </>
  );
}

function MetricMenu({ model }: { model: Model<ControlsTraits> }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const chosen = useTrait(model, 'chosen');
  const names = useTrait(model, 'names');
  const several = model.get('several');
  const full = several && chosen.length >= model.get('most');
  const [first = 'metric', ...more] = chosen;
  useEffect(() => (menu.current ? closeOnOutsideClick(menu.current) : undefined), []);
  const change = (name: string, box: HTMLInputElement) => {
    const now = choose(chosen, name, box.checked, several);
    if (menu.current && !several) menu.current.open = false;
    box.checked = now.includes(name); // the last one cannot be switched off
    send(model, 'chosen', now);
  };
  return (
    <details className="mosaic-menu" ref={menu}>
      <summary className="mosaic-button" title="Choose what the chart shows">
        {more.length ? `${first} + ${more.length}` : first}
      </summary>
      <div className="mosaic-menu-list">
        {grouped(names, model.get('common')).map(({ heading, names }) => [
          heading && (
            <div key={`\n${heading}`} className="mosaic-menu-heading">
              {heading}
            </div>
          ),
          ...names.map(name => (
            <label key={name} className="mosaic-menu-row">
              <input
                type={several ? 'checkbox' : 'radio'}
                checked={chosen.includes(name)}
                disabled={full && !chosen.includes(name)}
                onChange={event => change(name, event.currentTarget)}
              />
              {name}
            </label>
          ))
        ])}
      </div>
    </details>
  );
}

function YLimits({ model }: { model: Model<ControlsTraits> }) {
  const low = useTrait(model, 'low');
  const high = useTrait(model, 'high');
  const isLog = useTrait(model, 'log_axis');
  return (
    <span className="mosaic-field">
      y
      <TypedRange
        key={useTrait(model, 'resets')}
        limits={[low, high]}
        name="y limits"
        hints={['min', 'max']}
        labels={['Lower limit of the y axis', 'Upper limit of the y axis']}
        scale={isLog ? 'log' : 'linear'}
        onChange={([low, high]) => {
          model.set({ low, high });
          model.save_changes();
        }}
      />
    </span>
  );
}
