/** Whether the kernel of a panel still answers. */

import { type Model, onChange } from '../host/anywidget.ts';
import { DISCONNECTED } from '../host/kernel.ts';
import type { PanelTraits } from '../messages.ts';

const LOOK_MS = 1000;
const SILENT_SECONDS = 10;

/** "ended": restarted or shut down. "silent": it has not been heard of for ten seconds. */
export type Trouble = '' | 'ended' | 'silent';

export const SILENT_KERNEL =
  'The kernel does not answer. What is shown may be out of date until it answers again.';

/**
 * Call `changed` when the kernel's state has become another one. A kernel can be silent only while the panel is visible
 * and `live`: only then is it expected to speak. Seconds are counted here: a computer that slept has missed none.
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
