/** The tool bar of a wall of frames: pause, rate, scale, size, HUD. */

import { addIcon, button, option, segmented, select } from '../common/buttons.ts';
import { element, setPressed } from '../common/elements.ts';
import { SCALES, type Settings, SIZES } from './settings.ts';

const RATES = [1, 5, 10, 15, 30, 60];
const RATE_LABEL = 'Maximum frames per second';
const SAID_MS = 12_000;

export interface ToolBar {
  el: HTMLElement;
  /** Show the current settings. */
  draw(): void;
  /** Show a message for a while. */
  say(text: string, error?: boolean): void;
}

export function toolBar(
  parent: Node,
  title: string,
  settings: Settings,
  change: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void
): ToolBar {
  const el = element('div', 'mosaic-bar', parent);
  element('span', 'mosaic-title', el, title).title = title;
  const message = element('span', 'mosaic-message', el);
  message.setAttribute('role', 'status');
  const pause = button(el, '', '', () => change('paused', !settings.paused), 'mosaic-button mosaic-icon');
  const rate = element('label', 'mosaic-rate', el);
  rate.title = RATE_LABEL;
  const rates = select(rate, RATE_LABEL, value => change('fps', Number(value)));
  for (const value of [...new Set([...RATES, settings.fps])].sort((a, b) => a - b)) {
    option(rates, String(value), `${value} fps`);
  }
  rates.value = String(settings.fps);
  const pressScale = segmented(el, 'scale', SCALES, scale => change('scale', scale));
  const pressSize = segmented(el, 'size', SIZES, size => change('size', size));
  const toggleHud = () => change('hud', !settings.hud);
  const hud = button(el, 'HUD', 'Numbers below the frame', toggleHud, 'mosaic-button mosaic-toggle');

  const draw = () => {
    pause.replaceChildren();
    addIcon(pause, settings.paused ? 'play' : 'pause');
    pause.title = settings.paused ? 'Play' : 'Pause';
    pause.setAttribute('aria-label', pause.title);
    pressScale(settings.scale);
    pressSize(settings.size);
    setPressed(hud, settings.hud);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (text: string, error = false) => {
    clearTimeout(timer);
    message.textContent = message.title = text;
    message.classList.toggle('mosaic-error', error);
    timer = text === '' ? undefined : setTimeout(() => say(''), SAID_MS);
  };
  draw();
  return { el, draw, say };
}
