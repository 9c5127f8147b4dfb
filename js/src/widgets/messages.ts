/**
 * All data exchanged by the kernel and the page: the synced traits of each widget, and the messages on the
 * comm of frames. Keys match the Python side, which is named at each type.
 */

import type { Exchange, ExchangePlace, FilmFacts, Hinted, Selection } from '../shared/run-api.ts';

/** [value, name, hint], all as text. */
export type Fact = [value: string, name: string, hint: string];

type Level = 'info' | 'warning' | 'error';

export interface Notice {
  level: Level;
  text: string;
}

/** The page's reports [view, number, visible]: the last few of all views of one model. */
type VisibilityReport = [view: string, number: number, visible: boolean];

/** Traits of every widget that represents a whole panel. */
export interface PanelTraits {
  presence: VisibilityReport[];
  beat: number;
}

/** `widgets/runs/summary.py`, `widgets/evaluation/evaluation_panel.py`. */
export interface Summary {
  title: string;
  detail: string;
  state: string;
  chips: { state: string; text: string }[];
  reason: string;
  /** From 0 to 1; null if the total is unknown. */
  progress: number | null;
  facts: [value: string, unit: string][];
  /** The text of the stop button; empty if nothing can be stopped. */
  stop: string;
  /** How to show the panel again. */
  again: string;
  /** The folder of the run store, and the ids of its runs that the workspace can chart. */
  store: string;
  runs: string[];
}

export interface HeaderTraits extends PanelTraits {
  summary: Summary;
  stops: number;
  resumable: boolean;
  resumes: number;
  /** The id of the newest run that continues this one, or empty. */
  continued: string;
}

interface LegendEntry {
  key: string;
  label: string;
  color: string;
  value: string;
  state: string;
}

export type Axis = 'step' | 'episode' | 'time';

export interface ControlsTraits {
  names: string[];
  common: string[];
  chosen: string[];
  several: boolean;
  most: number;
  x: Axis;
  smoothing: number;
  log_axis: boolean;
  /** The limits of the y axis; null for the limit of the data. */
  low: number | null;
  high: number | null;
  interval: boolean;
  panning: boolean;
  hidden: string[];
  legend: LegendEntry[];
  waiting: string;
  resets: number;
  pngs: number;
  csvs: number;
  download: { name: string; data: string };
}

export interface FooterTraits {
  notices: Notice[];
  lines: string[];
  has_log: boolean;
  opened: boolean;
}

export interface CollapsibleTraits {
  title: string;
  /** Shown beside the title while collapsed. */
  text: string;
  opened: boolean;
}

/** `widgets/runs/film_strip.py`. */
export interface FilmStripTraits {
  films: (FilmFacts & { frame: ArrayBufferView<ArrayBuffer> })[];
  note: string;
  wanted: { step?: number; number?: number };
  film: { number?: number; type?: string; data?: ArrayBufferView<ArrayBuffer>; error?: string };
  x_scale: ModelReference | null;
  /** The x of each film on the chart above; null if it has none. */
  places: readonly (number | null)[];
}

/** `widgets/charts/chart.py`. */
export interface ChartPointerTraits {
  x_scale: ModelReference;
  y_scale: ModelReference;
  kind: string;
  log: boolean;
  marks: ModelReference[];
  /** For each mark, the names of its lines or points. */
  labels: readonly (readonly string[])[];
  x_label: string;
  /** The names of y = 0, 1, … on a categorical axis. */
  rows: readonly string[];
  /** For each mark, what a click on each of its lines or points does; empty: nothing. */
  hints: readonly (readonly string[])[];
  chosen: { id?: unknown; number?: number };
}

export interface PlotNoteTraits {
  legend: { label: string; color: string }[];
  title: string;
  note: string;
  /** The progress or the failure of the replay of a clicked point: level and text. */
  said: readonly [level: string, text: string];
}

export interface TableCell {
  text: string;
  /** Shown as a swatch before the text. */
  color?: string;
  hint?: string;
  /** The value by which a sortable table orders its rows. */
  key?: number | string | null;
  /** In the first cell of a row that can be clicked: the id that is then sent as `chosen`. */
  choose?: unknown;
}

export interface TableTraits {
  chosen: { id?: unknown; number?: number };
  table: {
    columns?: { title: string; numeric: boolean }[];
    rows?: TableCell[][];
    caption?: string;
    sortable?: boolean;
  };
}

/* ---- frames: `widgets/frames/` ---- */

/** A reference to another widget's model, "IPY_MODEL_" and its id. */
export type ModelReference = string;

export interface FrameWallTraits {
  title: string;
  tiles: { run: string; label: string }[];
  canvases: ModelReference[];
  fps: number;
  columns: number;
}

/** Numbers that JSON cannot represent (NaN, infinity) are sent as text. */
export type HudNumber = number | string;

export interface Hud {
  agent?: string;
  episode?: HudNumber;
  step?: HudNumber;
  reward?: HudNumber;
  episode_return?: HudNumber;
  steps_per_second?: HudNumber;
  text?: string;
}

/** One frame; its bytes are in the message's buffer with the same index. */
export interface FrameHeader {
  tile: number;
  sequence: number;
  width: number;
  height: number;
  channels: number;
  encoding: 'raw' | 'deflate' | 'jpeg';
  /** When the worker published it, in Unix seconds. */
  published: number;
  hud: Hud;
}

export interface FramesMessage {
  type: 'frames';
  id: number;
  /** Whether the kernel requests an acknowledgement of this message. */
  ack: boolean;
  tiles: FrameHeader[];
}

type FrameNotice = Notice & { tile: number };

export type FromKernel =
  | FramesMessage
  | { type: 'pong' }
  | { type: 'notices'; notices: FrameNotice[] }
  | { type: 'failed'; text: string }
  | { type: 'file'; name: string; mime: string };

/** The page's request: visible tiles, the maximum frame rate, and whether it is paused. */
export interface Wanted {
  visible: number[];
  fps: number;
  paused: boolean;
}

/** The message that opens the comm. */
export type Hello = { version: 1; tiles: { run: string }[] } & Wanted;

/** A tile's request: a picture, a film of the last seconds, frames on or off. */
export type TileRequest =
  | { type: 'snapshot' }
  | { type: 'record'; seconds: number; format: 'gif' | 'mp4' }
  | { type: 'enable'; on: boolean };

export type ToKernel =
  | ({ type: 'look' } & Wanted)
  | { type: 'ack'; id: number }
  | { type: 'beat' }
  | { type: 'close' }
  | (TileRequest & { tile: number });

/* ---- comparisons: `widgets/comparison/` ---- */

/** An action of an environment, as encoded in JSON. */
export type Action = number | string | boolean | null | Action[] | { [name: string]: Action };

/** [key, action]. */
export type KeyBinding = [key: string, action: Action];

/** An agent controlled by a human player. */
export interface Person {
  agent: string;
  keys: KeyBinding[];
  actions: [action: Action, name: string][];
  bounds: [least: number, most: number] | null;
  /** The action is typed: there are too many for buttons. */
  typed: boolean;
  /** The legal moves by name, if the game has names. */
  moves: string[] | null;
  board: { fen: string; moves: string[] } | null;
  /** The state in words, as far as the player may know it; null if there is none, or on another's turn. */
  text: string | null;
  /** The action is itself a text. */
  words: boolean;
  /** The id of the request for an action; null between turns. */
  request: string | null;
  legal: Action[] | null;
  turn: boolean;
  realtime: boolean;
  /** The outcome of a key pressed while no action was awaited; empty if there is none. */
  early: string;
}

export interface LaneOperator {
  key: string;
  name: string;
  category: string;
  agents: string[];
  about: [text: string, hint: string, warns: boolean][];
}

/** An agent's last action. */
export interface Move {
  agent: string;
  text: string;
  reasoning: string;
  /** The operator's fault; empty for none. */
  fault: string;
  fault_text: string;
  /** The faults of its language model's answers. */
  model_faults: Hinted[];
  reward: string;
  latency: string;
  tokens: [read: string, written: string];
}

type LaneState = 'opening' | 'ready' | 'stepping' | 'finished' | 'stopped' | 'failed';

export interface Lane {
  index: number;
  label: string;
  color: string;
  run: string;
  state: LaneState;
  reason: string;
  log: string;
  operators: LaneOperator[];
  /** A language model acts in this lane. */
  speaks: boolean;
  several: boolean;
  aec: boolean;
  turn: string[];
  facts: Fact[];
  totals: Fact[];
  moves: Move[];
  more: number;
  flags: string[];
  done: boolean;
  thinking: string;
  blank: string;
  people: Person[];
}

export interface ComparisonState {
  seeds: number[];
  seed: number;
  mode: 'idle' | 'playing' | 'closed';
  can_step: boolean;
  lanes: Lane[];
}

/** Keys changed in the page, by lane and agent; null: the environment's own. */
export type Bindings = Record<string, Record<string, KeyBinding[] | null>>;

/** A request to the comparison: [view, number, name, arguments], the last few of all views. */
type Call = [view: string, number: number, name: string, args: object];

export interface ComparisonTraits extends PanelTraits {
  title: string;
  state: ComparisonState;
  canvases: ModelReference[];
  language: ModelReference[];
  speeds: number[];
  speed: number;
  bindings: Bindings;
  said: Notice & { number: number };
  calls: Call[];
}

/** The exchanges of an agent's last step; empty while the card is collapsed. */
export interface ShownExchanges {
  agent: string;
  agents: string[];
  step: string;
  calls: Exchange[];
  earlier: number;
  messages: [from: string, to: string, text: string][];
}

export interface LanguageTraits {
  opened: boolean;
  agent: string;
  shown: Partial<ShownExchanges>;
  /** [agent, the end of its model's partial answer]. */
  writing: [agent: string, text: string][];
  number: number;
  drawn: number;
}

/* ---- replays: `widgets/replays/` ---- */

/** One step: the actions of its agents, and what they have observed, read and written. */
interface ReplayStep {
  moves: Move[];
  more: number;
  facts: Fact[];
  /** The observation as text; empty if it is neither text nor small. */
  text: string;
  calls: (Exchange & { agent: string })[];
}

/** A replay as made by `page_replay`. */
export interface Replay {
  label: string;
  color: string;
  /** How it compares with the recording, and the step from which on it differs. */
  verdict: string;
  differs: number | null;
  note: string;
  several: boolean;
  speaks: boolean;
  /** The numbers of steps after which there is a picture: the frames of its film. */
  pictured: number[];
  fps: number;
  /** Why there are no pictures. */
  blank: string;
  steps: ReplayStep[];
  end: { facts: Fact[]; flags: string[]; text: string };
  /** The number of steps that are left out. */
  omitted: number;
  /** Whether a comparison can begin at a step. */
  continues: boolean;
}

export interface ReplayTraits {
  title: string;
  replays: Replay[];
  films: DataView[];
  first_difference: number | null;
  /** The number of steps played so far. */
  at: number;
  /** Steps per second. */
  speed: number;
  /** The latest request of a comparison that begins at a step of a replay. */
  continued: { replay?: number; step?: number; number?: number };
  notice: readonly [level: string, text: string];
}

/** The table of runs in a cell; `RunTableView` in `mosaic_lab/widgets/overview/run_table.py`. */
export interface RunTableTraits {
  readonly store: string;
}

/** The exchanges of a run in a cell; `TranscriptView` in `mosaic_lab/widgets/overview/transcript.py`. */
export interface TranscriptTraits {
  readonly store: string;
  readonly run: string;
  readonly selection: Selection;
  /** The number of selected exchanges, once all were searched. */
  readonly found: number;
  /** The latest request for a replay, at the step of an exchange. */
  readonly replay_request: Partial<ExchangePlace> & { readonly number?: number };
  /** [level, text] of a message; empty without one. */
  readonly said: readonly string[];
}

/** The workspace in a cell; `WorkspaceView` in `mosaic_lab/widgets/overview/workspace.py`. */
export interface WorkspaceTraits {
  readonly store: string;
  readonly runs: readonly string[];
  /** The view state (`WorkspaceState`); initially empty. */
  readonly state: object;
  /** The runs that are neither hidden nor filtered out; null until the page knows the runs. */
  readonly visible: readonly string[] | null;
}
