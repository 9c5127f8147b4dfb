/** Whether a panel's kernel still responds. */

import { type Model, onChange } from '../host/anywidget.ts';
import { DISCONNECTED } from '../host/kernel.ts';
import type { PanelTraits } from '../messages.ts';

const LOOK_MS = 1000;
const SILENT_SECONDS = 10;

/** "ended": restarted or shut down. "silent": no message for ten seconds. */
export type Trouble = '' | 'ended' | 'silent';

export const SILENT_KERNEL =
  'The kernel does not answer. What is shown may be out of date until it answers again.';

/**
 * Call `changed` when the kernel's state has changed. A kernel counts as silent only while the panel is
 * visible and `live`, because only then are messages expected. Seconds are counted here, so that sleep of the
 * computer does not count.
 */
export function watchKernel<Traits extends PanelTraits>(
  model: Model<Traits>,
  el: Element,
  expected: { visible: () => boolean; live: () => boolean },
  changed: (trouble: Trouble) => void
): () => void {
  let seconds = 0;
  let trouble: Trouble = '';
  const look = () => {
    const ended = el.closest(DISCONNECTED) !== null;
    const now = ended ? 'ended' : expected.live() && seconds > SILENT_SECONDS ? 'silent' : '';
    if (now === trouble) return;
    trouble = now;
    changed(trouble);
  };
  const timer = setInterval(() => {
    seconds = expected.visible() ? seconds + 1 : 0;
    look();
  }, LOOK_MS);
  onChange(model, ['beat'], () => {
    seconds = 0;
    look();
  });
  return () => clearInterval(timer);
}
