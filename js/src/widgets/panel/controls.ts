/**
 * The chart's tool bar. Every setting is a synced trait: the kernel reads it, and a second view of the same
 * panel follows. Buttons for actions of the kernel increment a counter.
 */

import { share } from '../../shared/numbers.ts';
import { addIcon, button, type Choice, download, segmented, slider } from '../common/buttons.ts';
import { element, setPressed } from '../common/elements.ts';
import { type Model, onChange, type RenderContext, send } from '../host/anywidget.ts';
import type { Axis, ControlsTraits } from '../messages.ts';
import { legend } from './legend.ts';
import { metricMenu } from './metric-menu.ts';
import { yLimits } from './y-limits.ts';

const AXES: Choice<Axis>[] = [
  { value: 'step', text: 'Steps', hint: 'x axis: steps' },
  { value: 'episode', text: 'Episodes', hint: 'x axis: episodes' },
  { value: 'time', text: 'Time', hint: 'x axis: time' }
];
const LINES: Choice<boolean>[] = [
  { value: false, text: 'Runs', hint: 'One line per run' },
  { value: true, text: 'Mean', hint: 'Mean over runs, with a 95% interval from five runs on' }
];
const TOGGLE = 'mosaic-button mosaic-toggle';

function render({ model, el }: RenderContext<ControlsTraits>): () => void {
  el.classList.add('mosaic-controls');
  const bar = element('div', 'mosaic-bar', el);
  const endMenu = metricMenu(model, bar);
  const pressAxis = segmented(bar, 'x axis', AXES, x => send(model, 'x', x));
  const pressLines = model.get('several')
    ? () => {}
    : segmented(bar, 'lines', LINES, interval => send(model, 'interval', interval));
  const smoothing = slider(
    bar,
    'Smooth',
    'Exponential moving average: the weight of the past',
    { min: 0, max: 0.99, step: 0.01 },
    weight => send(model, 'smoothing', weight)
  );
  const toggle = (name: 'log_axis' | 'panning') => () => send(model, name, !model.get(name));
  const log = button(bar, 'log', 'Logarithmic y axis', toggle('log_axis'), TOGGLE);
  yLimits(model, bar);
  const tools = element('span', 'mosaic-tools', bar);
  const pan = button(
    tools,
    '',
    'Pan and zoom along x: drag, wheel',
    toggle('panning'),
    `${TOGGLE} mosaic-icon`
  );
  addIcon(pan, 'pan');
  const reset = button(
    tools,
    '',
    'Reset the view',
    () => raise(model, 'resets'),
    'mosaic-button mosaic-icon'
  );
  addIcon(reset, 'reset');
  fileButtons(model, tools);
  legend(model, el);

  const draw = () => {
    pressAxis(model.get('x'));
    pressLines(model.get('interval'));
    smoothing.input.value = String(model.get('smoothing'));
    smoothing.output.textContent = share(model.get('smoothing'));
    setPressed(log, model.get('log_axis'));
    setPressed(pan, model.get('panning'));
  };
  onChange(model, ['x', 'interval', 'smoothing', 'log_axis', 'panning'], draw);
  draw();
  return endMenu;
}

function raise(model: Model<ControlsTraits>, counter: 'resets' | 'pngs' | 'csvs'): void {
  send(model, counter, model.get(counter) + 1);
}

/** Only the view whose button was pressed saves the file sent by the kernel. */
function fileButtons(model: Model<ControlsTraits>, parent: Node): void {
  let requested = false;
  const request = (counter: 'pngs' | 'csvs') => () => {
    requested = true;
    raise(model, counter);
  };
  addIcon(button(parent, 'PNG', 'Save the chart as PNG', request('pngs')), 'save');
  addIcon(button(parent, 'CSV', 'Save all data as CSV', request('csvs')), 'save');
  onChange(model, ['download'], () => {
    const { name, data } = model.get('download');
    if (requested && name) {
      requested = false;
      download(name, data);
    }
  });
}

export default { render };
