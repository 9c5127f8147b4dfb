/** The lines of a chart: a run store's answer, as numbers. */

import type { Answer, BufferInfo } from '../../shared/run-api.ts';
import type { Place } from './marks.ts';

export type Numbers = Float32Array | Float64Array;

/** The numbers of a line, in ascending x. Immutable: a line that has grown has new ones. */
export interface LineData {
  readonly key: string;
  readonly runs: readonly string[];
  readonly label: string;
  readonly x: Float64Array;
  readonly y: Numbers;
  /** The bounds of an interval around `y`. */
  readonly low?: Numbers | undefined;
  readonly high?: Numbers | undefined;
  /** The key of the mean in front of this thin line. */
  readonly thin?: string | undefined;
  /** The starts of a curriculum's stages. */
  readonly marks?: readonly Place[] | undefined;
}

/** A line with its style. */
export interface ChartLine {
  readonly data: LineData;
  readonly label: string;
  readonly color: string;
  /** The same line without smoothing, drawn faintly behind. */
  readonly raw?: LineData | undefined;
}

/** The lines of an answer, whose buffers have the order x, y, low, high for each line. */
export function linesOf({ result, buffers }: Pick<Answer<'curves'>, 'result' | 'buffers'>): LineData[] {
  let next = 0;
  const numbers = (info: BufferInfo): Numbers => {
    const buffer = buffers[next++];
    if (buffer === undefined) throw new RangeError('The answer has fewer numbers than it announces.');
    return info.dtype === 'float64'
      ? new Float64Array(buffer, 0, info.length)
      : new Float32Array(buffer, 0, info.length);
  };
  return result.lines.map(line => {
    const { key, runs, label, thin, marks } = line;
    const x = numbers(line.x);
    const y = numbers(line.y);
    const low = line.low && numbers(line.low);
    const high = line.high && numbers(line.high);
    const precise = x instanceof Float64Array ? x : Float64Array.from(x);
    return { key, runs, label, thin, marks, x: precise, y, low, high };
  });
}

/** The run whose own values a line shows; null for the line of a group. */
export function lineRun({ key, runs }: LineData): string | null {
  const [run = '', ...otherRuns] = runs;
  return otherRuns.length === 0 && key.endsWith(run) ? run : null;
}
