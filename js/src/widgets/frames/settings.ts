/** A viewer's settings for all tiles of a view, and the resulting size of a picture. */

import type { Choice } from '../common/elements.ts';

type Scale = 'auto' | 'fit' | '1x' | 'pixel';
export type Size = 'small' | 'medium' | 'large';

export interface Settings {
  fps: number;
  paused: boolean;
  hud: boolean;
  scale: Scale;
  size: Size;
}

export const SCALES: Choice<Scale>[] = [
  {
    value: 'auto',
    text: 'Auto',
    hint: 'Fit the available space; enlarge small frames by whole factors, every pixel sharp'
  },
  { value: 'fit', text: 'Fit', hint: 'Fit the available space, by any factor' },
  { value: '1x', text: '1×', hint: 'One screen pixel per pixel' },
  { value: 'pixel', text: 'Pixel', hint: 'Enlarge by the largest whole factor, every pixel sharp' }
];

/** A picture's maximum share of the window's height. */
const SHARES: Record<Size, number> = { small: 0.35, medium: 0.6, large: 0.85 };
const PIXELATED_FROM = 2; // automatically: frames that fit at least this often are scaled by integer factors

export const SIZES: Choice<Size>[] = (['small', 'medium', 'large'] as const).map(value => ({
  value,
  text: value.charAt(0).toUpperCase(),
  hint: `Pictures up to ${100 * SHARES[value]}% as high as the window`
}));

interface Room {
  /** Width of the tile, in CSS pixels. */
  width: number;
  windowHeight: number;
  /** Screen pixels per CSS pixel. */
  density: number;
}

/**
 * The scale factor of a picture, and whether its pixels remain sharp. Integer factors refer to screen pixels,
 * which may be smaller than CSS pixels.
 */
export function fitted(
  picture: { width: number; height: number },
  available: Room,
  { scale, size }: Pick<Settings, 'scale' | 'size'>
): { factor: number; sharp: boolean } {
  if (scale === '1x') return { factor: 1, sharp: true };
  const largest = Math.min(
    available.width / picture.width,
    (SHARES[size] * available.windowHeight) / picture.height
  );
  if (scale === 'pixel' || (scale === 'auto' && largest >= PIXELATED_FROM)) {
    return { factor: Math.max(1, Math.floor(largest * available.density)) / available.density, sharp: true };
  }
  return { factor: largest, sharp: largest === 1 };
}
