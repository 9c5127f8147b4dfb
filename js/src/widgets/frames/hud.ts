/** The record of a frame, below it: agent, episode, step, reward, return, speed, text. */

import { number, whole } from '../../shared/numbers.ts';
import { element, setTextOrHide } from '../common/elements.ts';
import type { Hud, HudNumber } from '../messages.ts';

const NUMBERS = [
  ['episode', 'episode', whole],
  ['step', 'step', whole],
  ['reward', 'reward', number],
  ['episode_return', 'return', number],
  ['steps_per_second', 'steps/s now', number]
] as const;

/** Returns a function that shows a record in `box`. */
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
    for (const { name, format, item, value } of numbers)
      setTextOrHide(value, numberText(hud[name], format), item);
    setTextOrHide(text, hud.text ?? '');
  };
}

/** The kernel sends non-finite numbers as text, which is shown unchanged. */
function numberText(value: HudNumber | undefined, format: (value: number) => string): string {
  return typeof value === 'number' ? format(value) : (value ?? '');
}
