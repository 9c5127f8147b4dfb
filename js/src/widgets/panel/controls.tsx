/**
 * The chart's tool bar. Every setting is a synced trait: the kernel reads it, and a second view of the same
 * panel follows. Buttons for actions of the kernel increment a counter.
 */

import { useEffect, useRef } from 'react';
import { share } from '../../shared/numbers.ts';
import { type Choice, download, type ICONS } from '../common/buttons.ts';
import { Button, Icon, Segments, Slider } from '../common/parts.tsx';
import { type Model, onChange, type RenderContext, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { Axis, ControlsTraits } from '../messages.ts';
import { Legend } from './legend.tsx';
import { MetricMenu } from './metric-menu.tsx';
import { YLimits } from './y-limits.tsx';

const AXES: Choice<Axis>[] = [
  { value: 'step', text: 'Steps', hint: 'x axis: steps' },
  { value: 'episode', text: 'Episodes', hint: 'x axis: episodes' },
  { value: 'time', text: 'Time', hint: 'x axis: time' }
];
const LINES: Choice<boolean>[] = [
  { value: false, text: 'Runs', hint: 'One line per run' },
  { value: true, text: 'Mean', hint: 'Mean over runs, with a 95% interval from five runs on' }
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
          hint="Exponential moving average: the weight of the past"
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
