/** The widths of elements and columns. */

import { type RefCallback, type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** The width of an element in pixels, 0 while it is hidden. */
export function useSize(): [RefCallback<HTMLElement>, number] {
  const [width, setWidth] = useState(0);
  const sizes = useRef<ResizeObserver | null>(null);
  const ref = useCallback((el: HTMLElement | null) => {
    sizes.current?.disconnect();
    if (!el) return;
    sizes.current = new ResizeObserver(() => setWidth(el.clientWidth));
    sizes.current.observe(el);
  }, []);
  return [ref, width];
}

/** The width in pixels of an element that is always drawn, 0 at first. */
export function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [sizeRef, width] = useSize();
  useEffect(() => {
    sizeRef(ref.current);
    return () => sizeRef(null);
  }, [sizeRef, ref]);
  return width;
}

/**
 * The width of a flexible column besides which the widths of the others, in order, end at the edge of the room:
 * as many as fit beside its least width.
 */
export function fittingWidth(available: number, otherWidths: readonly number[], minimum: number): number {
  let used = 0;
  for (const width of otherWidths) {
    if (used + width > available - minimum) break;
    used += width;
  }
  return Math.max(minimum, available - used);
}
