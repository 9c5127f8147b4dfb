/**
 * The lines of one chart, requested from a run store: all runs at first, then new or grown ones.
 *
 * Requests are sent one at a time. Further requests wait, and the latest settings win. The previous lines
 * remain until the answer arrives.
 */

import type { CurvesRequest } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { type LineData, linesOf } from '../charts/lines.ts';

export type CurveSettings = Omit<CurvesRequest, 'runs'>;

const MORE_MS = 150;
const RETRY_MS = 5000;

export class ChartData {
  /** By key, which is a run's id unless the runs are grouped. */
  lines: ReadonlyMap<string, LineData> = new Map();
  /** The same without smoothing; empty if not requested. */
  raw: ReadonlyMap<string, LineData> = new Map();
  /** The settings of these lines, which may be older than the requested ones; null before the first answer. */
  drawn: CurveSettings | null = null;
  /** Why there are no newer lines; empty if there is no error. */
  error = '';
  notes: readonly string[] = [];
  /** The fraction of the runs' files that has been read, 0 to 1. */
  read = 1;
  loading = false;
  /** Whether there has been an answer. */
  answered = false;

  private readonly source: RunSource;
  private readonly changed: () => void;
  private settings: CurveSettings | null = null;
  private signature = '';
  private runs: readonly string[] = [];
  private requested = new Set<string>();
  private pending = new Set<string>();
  private visible = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(source: RunSource, changed: () => void) {
    this.source = source;
    this.changed = changed;
  }

  /** Request the lines of these runs with these settings. */
  want(settings: CurveSettings, runs: readonly string[]): void {
    const grouped = settings.group_by !== null;
    const signature = JSON.stringify(grouped ? [settings, runs] : settings);
    this.settings = settings;
    this.runs = runs;
    if (signature !== this.signature) {
      this.signature = signature;
      this.requested = new Set();
      this.pending = new Set();
    }
    for (const run of runs) if (!this.requested.has(run)) this.pending.add(run);
    void this.request();
  }

  /** Request new points of these runs. */
  grown(runs: readonly string[]): void {
    for (const run of runs) if (this.runs.includes(run)) this.pending.add(run);
    void this.request();
  }

  /** Whether the lines belong to these groups rather than the previous ones. */
  isOf(groupBy: CurveSettings['group_by']): boolean {
    return JSON.stringify(groupBy) === JSON.stringify(this.drawn?.group_by ?? null);
  }

  /** Nothing is requested for an invisible chart. */
  setVisible(visible: boolean): void {
    this.visible = visible;
    if (visible) void this.request();
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private async request(): Promise<void> {
    const { settings, signature } = this;
    if (this.loading || this.ended || !this.visible || !settings || this.pending.size === 0) return;
    clearTimeout(this.timer);
    const grouped = settings.group_by !== null;
    const fresh = grouped || this.requested.size === 0;
    const runs = grouped ? this.runs : this.runs.filter(run => this.pending.has(run));
    this.pending.clear();
    if (runs.length === 0) return;
    for (const run of runs) this.requested.add(run);
    this.loading = true;
    this.changed();
    try {
      const smoothed = settings.smoothing > 0 && !grouped;
      const [answer, raw] = await Promise.all([
        this.source.call('curves', { ...settings, runs }),
        smoothed ? this.source.call('curves', { ...settings, smoothing: 0, runs }) : null
      ]);
      if (signature === this.signature) {
        this.lines = merged(fresh ? null : this.lines, runs, linesOf(answer));
        this.raw = raw ? merged(fresh ? null : this.raw, runs, linesOf(raw)) : new Map();
        this.drawn = settings;
        this.notes = answer.result.notes;
        this.read = answer.result.read;
        this.error = '';
        this.answered = true;
        if (this.read < 1) this.later(runs, MORE_MS);
      }
    } catch (reason) {
      if (signature === this.signature) {
        this.error = messageOf(reason);
        if (fresh) this.requested = new Set();
        this.later(runs, RETRY_MS);
      }
    }
    this.loading = false;
    if (this.ended) return;
    this.changed();
    void this.request();
  }

  private later(runs: readonly string[], delay: number): void {
    this.timer = setTimeout(() => {
      for (const run of runs) this.pending.add(run);
      void this.request();
    }, delay);
  }
}

/** The previous lines merged with an answer; lines of the answer's runs are replaced or removed. */
function merged(
  before: ReadonlyMap<string, LineData> | null,
  runs: readonly string[],
  lines: readonly LineData[]
): ReadonlyMap<string, LineData> {
  const latest = new Map(before ?? []);
  const fresh = new Set(lines.map(({ key }) => key));
  for (const run of runs) if (!fresh.has(run)) latest.delete(run);
  for (const line of lines) latest.set(line.key, line);
  return latest;
}
