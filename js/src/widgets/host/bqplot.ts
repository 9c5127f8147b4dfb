/**
 * Where a click on a bqplot figure is on its x axis. Neither is public interface: checked on bqplot 0.13.1 (`plotarea_events`
 * is the rectangle between the axes) and bqscales 0.3.7 (`domain` is what a linear scale shows now).
 */

const PLOT = '.plotarea_events';

interface ScaleModel {
  readonly domain?: readonly [number, number];
}

/** The x value below the pointer; null where that is outside the axes. */
export function valueAt(figure: Element, scale: unknown, event: MouseEvent): number | null {
  const box = figure.querySelector(PLOT)?.getBoundingClientRect();
  const [low, high] = (scale as ScaleModel).domain ?? [];
  if (!box?.width || low === undefined || high === undefined) return null;
  if (event.clientY < box.top || event.clientY > box.bottom) return null;
  const part = (event.clientX - box.left) / box.width;
  return part < 0 || part > 1 ? null : low + part * (high - low);
}
