/** Playing: a step after another, at the speed of the model, until the last. */

import { useEffect, useState } from 'react';
import type { Model } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { ReplayTraits } from '../messages.ts';

export function usePlaying(model: Model<ReplayTraits>, last: number, go: (step: number) => void) {
  const speed = useTrait(model, 'speed');
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      const next = model.get('at') + 1;
      go(next);
      if (next >= last) setPlaying(false);
    }, 1000 / speed);
    return () => clearInterval(timer);
  }, [playing, speed, last, go, model]);
  return { playing, setPlaying };
}
