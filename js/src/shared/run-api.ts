/**
 * The interface between the page and a run store, answered by a kernel over a comm or by Jupyter's server.
 *
 * `mosaic_lab/overview/service.py` is the other side, with the same names and meanings. Missing numbers are
 * null, times are Unix seconds, and a run is identified by its store's absolute path and its id.
 */

export type RunKind =
  | 'training'
  | 'evaluation'
  | 'comparison'
  | 'sweep'
  | 'films'
  | 'checkpoint evaluation'
  | 'script'
  | 'server';

/** Whether a run works for a training with its checkpoints. */
export function isBackground(kind: RunKind): boolean {
  return kind === 'films' || kind === 'checkpoint evaluation';
}

export type RunState =
  | 'queued'
  | 'starting'
  | 'running'
  | 'stopping'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'lost';

/** A row of the table of runs; `RunRow` in `mosaic_lab/overview/rows.py`. */
export interface RunRow {
  readonly id: string;
  readonly name: string;
  /** The run's label from its start; its name until the user sets another. */
  readonly label: string;
  readonly kind: RunKind;
  readonly state: RunState;
  /** The reason of the run's state, a sentence. */
  readonly reason: string;
  readonly alive: boolean;
  readonly worker: string;
  readonly algorithm: string | null;
  readonly env: string | null;
  readonly seed: number | null;
  /** The shared name of runs started together over several seeds. */
  readonly group: string | null;
  /** The id of the run to which this one belongs. */
  readonly parent: string | null;
  /** The id of the run from whose checkpoint this one continues. */
  readonly continues: string | null;
  readonly tags: readonly string[];
  readonly notes: string;
  readonly created: number | null;
  /** The start of the newest session; `earlier_seconds` is the duration of those before it. */
  readonly started: number | null;
  readonly earlier_seconds: number;
  readonly ended: number | null;
  /** Seconds of work so far. */
  readonly duration: number | null;
  readonly step: number | null;
  /** Steps to train, in whole updates; may therefore differ from `requested_steps`. */
  readonly total_steps: number | null;
  readonly requested_steps: number | null;
  readonly episodes: number | null;
  readonly total_episodes: number | null;
  /** Ended trials of a sweep, or segments if it is `segmented`. */
  readonly trials: number | null;
  readonly total_trials: number | null;
  readonly segmented: boolean;
  /** 0 to 1. */
  readonly progress: number | null;
  /** Steps per second. */
  readonly speed: number | null;
  readonly last_return: number | null;
  readonly best_return: number | null;
  /** At most 40 values of the return, oldest first. */
  readonly sparkline: readonly number[];
  readonly hyperparameters: Readonly<Record<string, unknown>>;
}

/** Changes in a store since a version of its rows. */
export interface Changes {
  readonly version: number;
  /** Whether `rows` is complete, replacing all previous rows. */
  readonly whole?: boolean;
  readonly rows: readonly RunRow[];
  readonly removed: readonly string[];
}

interface RunDetails {
  /** The last value of each metric. */
  readonly results: Readonly<Record<string, number | null>>;
  /** The Python call that creates the run again. */
  readonly code: string;
}

/** A film of a checkpoint's policy; `Film.facts` in `mosaic_lab/runs/films.py`. */
export interface FilmFacts {
  readonly step: number;
  readonly return: number | null;
  /** Steps of the episode. */
  readonly length: number;
  /** Duration of the film. */
  readonly seconds: number;
  /** Whether the episode was played to its end. */
  readonly complete: boolean;
}

export type Axis = 'step' | 'episode' | 'time' | 'relative';

/** A film with its positions on the x axes of its run's charts. */
interface PlacedFilm extends FilmFacts {
  readonly places: Readonly<Record<Axis, number | null>>;
}

export interface CurvesRequest {
  readonly runs: readonly string[];
  readonly metric: string;
  readonly x: Axis;
  readonly start: number | null;
  readonly end: number | null;
  /** Maximum number of points per line: about the chart's width in pixels. */
  readonly points: number;
  /** In [0, 1); 0 for none. */
  readonly smoothing: number;
  /** Whether to omit outliers. */
  readonly outliers: boolean;
  /** Hyperparameters that group the runs; a group is a mean with its interval. null: a line per run. */
  readonly group_by: readonly string[] | null;
}

/** The place of a line's numbers: `dtype[length]`, in the order of the answer's buffers. */
export interface BufferInfo {
  readonly dtype: 'float64' | 'float32';
  readonly length: number;
}

interface CurveLine {
  readonly key: string;
  readonly runs: readonly string[];
  readonly label: string;
  readonly x: BufferInfo;
  readonly y: BufferInfo;
  readonly low?: BufferInfo;
  readonly high?: BufferInfo;
  /** For a run in a group too small for an interval: the key of the mean drawn in front of this thin line. */
  readonly thin?: string;
  /** The starts of a curriculum's stages. */
  readonly marks?: readonly { readonly x: number; readonly label: string }[];
}

interface Curves {
  readonly x_label: string;
  readonly lines: readonly CurveLine[];
  /** The minimum and maximum x of all data, regardless of the requested part. */
  readonly range: readonly [number, number] | null;
  /** Below 1 while parts of the runs' files remain to be parsed: request again. */
  readonly read: number;
  /** Sentences about omitted data and the reasons. */
  readonly notes: readonly string[];
}

/** A chart as shown on the page, for `export`. */
export interface ChartRequest extends CurvesRequest {
  readonly log_x?: boolean;
  readonly log_y?: boolean;
  /** The limits of the y axis. */
  readonly low?: number | null;
  readonly high?: number | null;
  /** `#rrggbb` by the key of a line. */
  readonly colors?: Readonly<Record<string, string>>;
}

export interface Difference {
  readonly sections: readonly {
    readonly title: string;
    readonly rows: readonly {
      readonly name: string;
      readonly values: readonly [string, string];
      readonly same: boolean;
    }[];
  }[];
}

/**
 * A worker; `worker_rows` in `mosaic_lab/overview/workers.py`. Fields known only after installation are empty,
 * 0 or null.
 */
export interface WorkerRow {
  readonly name: string;
  readonly state: 'installed' | 'not installed' | 'outdated' | 'broken';
  readonly detail: string;
  readonly about: string;
  readonly upstream: string;
  readonly version: string;
  readonly source: string;
  readonly size_bytes: number;
  readonly created: number | null;
  /** Globs of the environments that it provides. */
  readonly provides: readonly string[];
  readonly algorithms: readonly string[];
  /** Whether the worker can train once it is installed. */
  readonly trains: boolean;
  /** The time of the last check in Unix seconds. */
  readonly checked: number | null;
  readonly checks: number;
  /** The errors by name of the failed check. */
  readonly failed: Readonly<Record<string, string>>;
}

export type FormKind = 'training' | 'evaluation' | 'comparison';

/** Which exchanges are shown; `Selection` in `mosaic_lab/arenas/exchange_index.py`. */
export interface Selection {
  readonly operator: string | null;
  readonly seed: number | null;
  /** The name of a fault, "any" or "none". */
  readonly fault: string | null;
  /** Lengths in characters, from and to. */
  readonly prompt: readonly [number | null, number | null];
  readonly answer: readonly [number | null, number | null];
  /** Searched in prompts, answers and reasoning. */
  readonly text: string;
}

/** Where an exchange was in an evaluation or a comparison. */
export interface ExchangePlace {
  readonly id: string;
  readonly operator: string;
  readonly seed: number | null;
  readonly episode: number;
  readonly step: number;
  readonly call: number;
}

export interface ExchangeRow extends ExchangePlace {
  /** The beginning of the answer. */
  readonly answer: string;
  readonly action: string | null;
  readonly faults: readonly string[];
  readonly tokens: number | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
}

/** [text, hint]: a short text and its tooltip. */
export type Hinted = [text: string, hint: string];

export interface PromptTurn {
  role: string;
  text: string;
  images: { src: string; text: string }[];
}

/** One request to a language model and its answer; `mosaic_lab/overview/exchange_view.py`. */
export interface Exchange {
  note: string;
  turns: PromptTurn[];
  reasoning: string;
  /** The text before, in and after the parsed action. */
  answer: [before: string, action: string, after: string];
  facts: Hinted[];
  faults: Hinted[];
}

export type ExchangeAmount = 'tokens' | 'latency_ms' | 'cost_usd';

interface ExchangePage {
  readonly rows: readonly ExchangeRow[];
  /** The place of the first row among the selected exchanges. */
  readonly first: number;
  /** The number of selected exchanges found so far, and of all that are indexed. */
  readonly found: number;
  readonly total: number;
  /** The indexed and the searched fractions of the recording. Below 1: the next request continues. */
  readonly indexed: number;
  readonly searched: number;
  /** Lines that are truncated, modified or not an exchange. */
  readonly damaged: number;
  readonly alive: boolean;
  /** The numbers of the lanes with exchanges, by name. */
  readonly operators: Readonly<Record<string, number>>;
  /** The numbers of exchanges with each fault. */
  readonly faults: Readonly<Record<string, number>>;
}

/** A form as JSON schemas; `mosaic_lab/overview/forms.py`. */
export interface FormAnswer {
  readonly schema: object;
  readonly hyperparameters?: {
    readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
  };
  readonly algorithms?: readonly string[];
  readonly algorithm?: string | null;
  readonly note?: string;
}

/** Parameters and results of each method by its name. */
export interface Methods {
  changes: [{ version: number }, Changes];
  details: [{ runs: readonly string[] }, { runs: Readonly<Record<string, RunDetails>> }];
  metrics: [{ runs: readonly string[] }, { names: readonly string[] }];
  curves: [CurvesRequest, Curves];
  log: [{ run: string; lines: number }, { text: string }];
  difference: [{ runs: readonly [string, string] }, Difference];
  export: [
    { charts: readonly ChartRequest[]; format: 'csv' | 'png' | 'svg' },
    { name: string; type: string }
  ];
  /** A buffer for each film: its first frame, a PNG. */
  films: [
    { run: string },
    {
      films: readonly PlacedFilm[];
      missing: Readonly<Record<string, string>>;
      status: string;
      /** Whether a run is making films, so that more may follow. */
      being_made: boolean;
    }
  ];
  film: [{ run: string; step: number }, { type: string }];
  transcript: [{ run: string; selection: Selection; first: number; rows: number }, ExchangePage];
  exchange_means: [{ run: string; selection: Selection; amount: ExchangeAmount }, Curves];
  exchange: [{ run: string; id: string }, { place: ExchangePlace; call: Exchange }];
  /** A buffer: the file. */
  exchange_file: [
    { run: string; selection: Selection; format: 'jsonl' | 'csv' | 'json' },
    { name: string; type: string }
  ];
  // Without a store:
  workers: [object, { rows: readonly WorkerRow[] }];
  /** The models that a provider lists. */
  models: [{ provider: string }, { names: readonly string[] }];
  forms: [{ kind: FormKind; worker?: string; algorithm?: string }, FormAnswer];
  code: [
    { kind: FormKind; values: Readonly<Record<string, unknown>>; lab: string; taken: readonly string[] },
    { code: string }
  ];
  // Actions, which only a kernel provides:
  stop: [{ runs: readonly string[] }, object];
  /**
   * A training continues as a new run from its newest checkpoint, those of a group as a new group; other runs
   * resume in their folders. The result has the runs that continue, and those that have completed.
   */
  resume: [{ runs: readonly string[] }, { runs: readonly string[] }];
  remove: [{ runs: readonly string[]; trials?: boolean }, object];
  annotate: [{ run: string; name?: string; tags?: readonly string[]; notes?: string }, object];
  panel: [{ runs: readonly string[] }, { model_id: string }];
  compare: [{ runs: readonly string[] }, { model_id: string }];
  replay: [
    { run: string; operator: string; seed: number | null; episode: number; step: number },
    { model_id: string }
  ];
  /** A panel, comparison or replay opened in a tab, when the tab is closed. */
  close: [{ model_id: string }, object];
  install: [{ worker: string }, object];
  check: [{ worker: string }, object];
}

export type Method = keyof Methods;

/** The actions among the methods. */
export const ACTIONS: ReadonlySet<Method> = new Set<Method>([
  'stop',
  'resume',
  'remove',
  'annotate',
  'panel',
  'compare',
  'replay',
  'close',
  'install',
  'check'
]);

export interface Answer<M extends Method> {
  readonly result: Methods[M][1];
  readonly buffers: readonly ArrayBuffer[];
}

/** Progress of an installation or a start: a line of its log, and the worker. */
export type Progress = Readonly<{ worker?: string; line?: string }>;
