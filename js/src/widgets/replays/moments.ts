/** Steps of a replay as moments of its film, and the steps that keys lead to. */

const PAGE = 10;

/** The index of the newest picture at this step: of a long episode, only every nth state has one. */
export function frameOf(pictured: readonly number[], step: number): number {
  const later = pictured.findIndex(picturedStep => picturedStep > step);
  return Math.max(0, later < 0 ? pictured.length - 1 : later - 1);
}

/** The middle of a frame, in seconds: its beginning may be rounded. */
export function momentOf(frame: number, fps: number): number {
  return (frame + 0.5) / fps;
}

/** The step that a key leads to; null for any other key. */
export function keyTarget(key: string, currentStep: number, last: number): number | null {
  const steps: Record<string, number> = {
    ArrowLeft: currentStep - 1,
    ArrowRight: currentStep + 1,
    PageUp: currentStep - PAGE,
    PageDown: currentStep + PAGE,
    Home: 0,
    End: last
  };
  const step = steps[key];
  return step === undefined ? null : Math.max(0, Math.min(last, step));
}
