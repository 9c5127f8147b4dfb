/** The record that belongs to a frame, below it: agent, episode, step, reward, return, speed, text. */

import { element, setTextOrHide } from '../common/elements.ts';
import { count, short } from '../common/numbers.ts';
import type { Hud } from '../messages.ts';

const NUMBERS = [
  ['episode', 'episode', count],
  ['step', 'step', count],
  ['reward', 'reward', short],
  ['episode_return', 'return', short],
  ['steps_per_second', 'steps/s', short]
] as const;

/** Returns what shows a record in `box`. */
export function hudIn(box: Node): (hud: Hud) => void {
  const agent = element('b', 'mosaic-hud-agent', box);
  const numbers = NUMBERS.map(([name, label, format]) => {
    const item = element('span', '', box);
    element('i', '', item, label);
    return { name, format, item, value: element('b', '', item) };
  });
  const text = element('span', 'mosaic-hud-text', box);
  return hud => {
    setTextOrHide(agent, hud.agent ?? '');
    for (const { name, format, item, value } of numbers) setTextOrHide(value, format(hud[name]), item);
    setTextOrHide(text, hud.text ?? '');
  };
}
