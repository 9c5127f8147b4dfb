/** Whether a panel's kernel still responds. */

import { useEffect, useState } from 'react';
import { type Model, onChange } from '../host/anywidget.ts';
import { DISCONNECTED } from '../host/kernel.ts';
import type { PanelTraits } from '../messages.ts';
import { reportVisibility } from './visibility.ts';

const LOOK_MS = 1000;
const SILENT_SECONDS = 10;

/** "ended": restarted or shut down. "silent": no message for ten seconds. */
export type Trouble = '' | 'ended' | 'silent';

export const SILENT_KERNEL =
  'The kernel does not answer. What is shown may be out of date until it answers again.';

/**
 * The state of the kernel, and the panel's visibility for it. A kernel counts as silent only while the panel is
 * visible and `live`, because only then are messages expected. Seconds are counted here, so that sleep of the
 * computer does not count.
 */
export function useKernelTrouble<Traits extends PanelTraits>(
  model: Model<Traits>,
  el: Element,
  live: () => boolean
): Trouble {
  const [trouble, setTrouble] = useState<Trouble>('');
  useEffect(() => {
    const visibility = reportVisibility(model, el);
    let seconds = 0;
    const look = () => {
      const ended = el.closest(DISCONNECTED) !== null;
      setTrouble(ended ? 'ended' : live() && seconds > SILENT_SECONDS ? 'silent' : '');
    };
    const beat = () => {
      seconds = 0;
      look();
    };
    const timer = setInterval(() => {
      seconds = visibility.visible() ? seconds + 1 : 0;
      look();
    }, LOOK_MS);
    onChange(model, ['beat'], beat);
    return () => {
      clearInterval(timer);
      model.off('change:beat', beat);
      visibility.end();
    };
  }, [model, el]);
  return trouble;
}
