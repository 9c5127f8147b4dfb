/** A handle to resize the table of runs by dragging or with arrow keys. */

import { type PointerEvent, type ReactNode, useRef } from 'react';
import { trans } from '../translation.ts';

const LEAST_TABLE = 160;
const KEY_STEP = 20;

export function Splitter(props: {
  readonly width: number | null;
  readonly set: (width: number) => void;
}): ReactNode {
  const { width, set } = props;
  const start = useRef<{ x: number; width: number } | null>(null);
  const now = (el: Element) => width ?? el.previousElementSibling?.clientWidth ?? LEAST_TABLE;
  const move = (event: PointerEvent) => {
    if (start.current) set(Math.max(LEAST_TABLE, start.current.width + event.clientX - start.current.x));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that is dragged
    <div
      className="mosaic-splitter"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={trans.__('Width of the table of runs')}
      aria-valuenow={width ?? LEAST_TABLE}
      aria-valuemin={LEAST_TABLE}
      onKeyDown={event => {
        const by = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
        if (by !== undefined) {
          event.preventDefault();
          set(Math.max(LEAST_TABLE, now(event.currentTarget) + by));
        }
      }}
      onPointerDown={event => {
        start.current = { x: event.clientX, width: now(event.currentTarget) };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={move}
      onPointerUp={() => {
        start.current = null;
      }}
      data-lm-suppress-shortcuts="true"
    />
  );
}
