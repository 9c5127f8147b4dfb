/** The buttons of a tile: save this frame or the last seconds, turn the run's frames on and off. */

import { addIcon, button, closeOnOutsideClick, segmented } from '../common/buttons.ts';
import { element } from '../common/elements.ts';
import type { TileRequest } from '../messages.ts';

const RECORD_SECONDS = [5, 10, 30, 60];
const FORMATS = ['gif', 'mp4'] as const;
const SWITCHES = [
  { value: true, text: 'On', hint: 'Have the run publish frames while it has viewers' },
  { value: false, text: 'Off', hint: 'Stop the run from publishing frames, even with viewers' }
];

export interface TileActions {
  /** The pressed one of the run's buttons; null if unknown. */
  press(on: boolean | null): void;
  close(): void;
}

export function tileActions(parent: Node, request: (message: TileRequest) => void): TileActions {
  const tools = element('span', 'mosaic-tile-tools', parent);
  const snapshot = () => request({ type: 'snapshot' });
  addIcon(button(tools, '', 'Save this frame as PNG', snapshot, 'mosaic-button mosaic-icon'), 'camera');
  const menu = element('details', 'mosaic-menu', tools);
  const summary = element('summary', 'mosaic-button mosaic-icon', menu);
  summary.title = 'Save the last seconds, turn frames on and off';
  addIcon(summary, 'record');
  const list = element('div', 'mosaic-menu-list', menu);
  const row = (label: string) => {
    const line = element('div', 'mosaic-tile-row', list);
    element('span', '', line, label);
    return line;
  };
  const choose = (message: TileRequest) => {
    menu.open = false;
    request(message);
  };

  let seconds = 5;
  const lengths = RECORD_SECONDS.map(value => ({ value, text: `${value} s`, hint: `${value} seconds` }));
  const pressLength = segmented(row('The last'), 'seconds to save', lengths, value => {
    seconds = value;
    pressLength(seconds);
  });
  pressLength(seconds);
  const formats = FORMATS.map(value => {
    const text = value.toUpperCase();
    return { value, text, hint: `Save the last seconds as ${text}` };
  });
  segmented(row('Save as'), 'format', formats, format => choose({ type: 'record', seconds, format }));
  const press = segmented(row("The run's frames"), 'frames of the run', SWITCHES, on => {
    choose({ type: 'enable', on });
  });
  return { press, close: closeOnOutsideClick(menu) };
}
