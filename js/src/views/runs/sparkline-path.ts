/** The path of a sparkline with a margin of one pixel; a constant series runs through the middle. */
export function sparklinePath(values: readonly number[], width: number, height: number): string {
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  const step = (width - 2) / (values.length - 1);
  return values
    .map((value, place) => {
      const share = range > 0 ? (value - low) / range : 0.5;
      return `${place ? 'L' : 'M'}${(1 + place * step).toFixed(1)} ${(height - 1 - share * (height - 2)).toFixed(1)}`;
    })
    .join('');
}
