/** The panel's section "Runs": the table of the runs of all stores, or of the selected one. */

import { Notification } from '@jupyterlab/apputils';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import type { Message } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Menu } from '@lumino/widgets';
import type { JSX } from 'react';

import type { RunSource } from '../../shared/run-source.ts';
import * as reasons from '../../views/runs/reasons.ts';
import type { Action } from '../../views/runs/run-actions.ts';
import type { RunTable } from '../../views/runs/run-table.ts';
import { RunsView } from '../../views/runs/runs-view.tsx';
import { selectedTargets } from '../../views/runs/targets.ts';
import { storeTitles } from '../../views/runs/tree.ts';
import { CommandIDs, type IRunSources } from '../tokens.ts';
import type { RunCommand } from './commands.ts';
import { explainDisabled, fillMenu, TOOL_BAR } from './run-menu.ts';
import './runs-panel.css';
import { trans } from '../../views/translation.ts';

/** With more stores, only one is shown initially. */
const MAX_STORES = 8;
/** Interval between searches for new stores while the panel is visible. */
const SEARCH_MS = 15_000;
const REASON_MS = 5000;
const ALL = '';

interface RunsSectionOptions {
  readonly table: RunTable;
  readonly sources: IRunSources;
  readonly commands: CommandRegistry;
  readonly runCommands: readonly RunCommand[];
}

export class RunsSection extends ReactWidget {
  constructor(options: RunsSectionOptions) {
    super();
    this._options = options;
    const { sources } = options;
    this.id = 'mosaic-lab-runs-section';
    this.addClass('mosaic-runs-section');
    this.title.label = trans.__('Runs');
    sources.changed.connect(() => this._follow());
    this._follow();
  }

  /** The store selected by the user: "" for all, null before a selection. */
  get chosen(): string | null {
    return this._chosen;
  }

  choose(store: string): void {
    this._chosen = store;
    this._follow();
  }

  /** Emitted when the content above the table may have changed. */
  readonly changed = new Signal<this, void>(this);

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._options.sources.searchNowAndThen();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._timer = setInterval(() => {
      if (this.isVisible && !document.hidden) this._options.sources.searchNowAndThen();
    }, SEARCH_MS);
  }

  protected override onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    clearInterval(this._timer);
  }

  protected render(): JSX.Element {
    return <UseSignal signal={this.changed}>{() => this._view()}</UseSignal>;
  }

  private _view(): JSX.Element {
    const { table, sources, commands } = this._options;
    const followed = table.sources;
    const readOnly = new Map(
      followed.filter(source => !source.canAct).map(source => [source.store, source.whyNot])
    );
    const canAct = readOnly.size < followed.length;
    return (
      <RunsView
        table={table}
        actions={this._actions}
        readOnly={readOnly}
        notices={sources.notices}
        onOpen={() => this._open()}
        empty={
          <Empty
            hasStore={followed.length > 0}
            canAct={canAct}
            searched={sources.searched}
            onNew={
              commands.hasCommand(CommandIDs.newTraining)
                ? () => void commands.execute(CommandIDs.newTraining)
                : null
            }
          />
        }
      >
        {sources.sources.length > 1 && this._stores()}
      </RunsView>
    );
  }

  private _stores(): JSX.Element {
    const { sources } = this._options.sources;
    const titles = storeTitles(sources.map(({ store }) => store));
    return (
      <div className="mosaic-runs-stores">
        <select
          aria-label={trans.__('Run store')}
          value={this._chosenStore}
          onChange={event => this.choose(event.target.value)}
        >
          <option value={ALL}>{trans.__('All %1 run stores', titles.size)}</option>
          {sources.map(({ store, hasKernel }) => (
            <option key={store} value={store} title={store}>
              {hasKernel ? titles.get(store) : trans.__('%1 (read-only)', titles.get(store) ?? store)}
            </option>
          ))}
        </select>
      </div>
    );
  }

  /** The displayed store; "" for all. */
  private get _chosenStore(): string {
    const { sources } = this._options.sources;
    const isThere = (store: string) => store === ALL || sources.some(source => source.store === store);
    if (this._chosen !== null && isThere(this._chosen)) return this._chosen;
    if (this._first !== null && isThere(this._first)) return this._first;
    return sources.length > MAX_STORES ? (sources[0]?.store ?? ALL) : ALL;
  }

  private _follow(): void {
    const { sources, table } = this._options;
    const store = this._chosenStore;
    if (sources.searched) {
      this._first ??= store; // a newer store must not change the display
    }
    const visible = sources.sources.filter(source => store === ALL || source.store === store);
    const before = table.sources;
    if (visible.length !== before.length || visible.some((source, index) => source !== before[index])) {
      table.setSources(visible);
    }
    for (const source of visible) {
      if (!this._listened.has(source)) {
        this._listened.add(source);
        source.onStatus(() => this.changed.emit());
      }
    }
    this.changed.emit();
  }

  private get _actions(): readonly Action[] {
    const { runCommands, commands } = this._options;
    const toolbarCommands = runCommands.filter(({ id }) => TOOL_BAR.includes(id));
    return [
      ...toolbarCommands.map(command => ({ ...command, run: () => void commands.execute(command.id) })),
      { label: trans.__('More actions'), icon: 'more', whyNot: () => '', run: () => this._openMenu() }
    ];
  }

  /**
   * Open the best available view of the selected runs: their live panel or, without a kernel, their charts. If
   * there is none, show the reason.
   */
  private _open(): void {
    const { commands, table } = this._options;
    const whyNot = reasons.open(selectedTargets(table));
    if (whyNot) {
      Notification.info(whyNot, { autoClose: REASON_MS });
      return;
    }
    const panel = commands.isEnabled(CommandIDs.openRunPanel);
    void commands.execute(panel ? CommandIDs.openRunPanel : CommandIDs.openInWorkspace);
  }

  private _openMenu(): void {
    const menu = new Menu({ commands: this._options.commands });
    fillMenu(item => menu.addItem(item));
    const button = this.node.querySelector('[role="toolbar"] button:last-child')?.getBoundingClientRect();
    menu.open(button?.left ?? 0, button?.bottom ?? 0);
    explainDisabled(menu);
  }

  private readonly _options: RunsSectionOptions;
  private readonly _listened = new WeakSet<RunSource>();
  private _chosen: string | null = null;
  /** The store displayed before the user selects one; null before the first search. */
  private _first: string | null = null;
  private _timer: ReturnType<typeof setInterval> | undefined;
}

const TRAIN = [
  'lab.train(',
  '    "cleanrl",',
  '    algorithm="ppo",',
  '    env="CartPole-v1",',
  '    total_timesteps=50_000,',
  ')'
];

interface EmptyProps {
  /** Whether any store is known. */
  readonly hasStore: boolean;
  readonly canAct: boolean;
  readonly searched: boolean;
  /** Opens the form of a new training; null without one. */
  readonly onNew: (() => void) | null;
}

function Empty({ hasStore, canAct, searched, onNew }: EmptyProps) {
  if (!hasStore && !searched) {
    return <p className="mosaic-runs-empty">{trans.__('Looking for run stores …')}</p>;
  }
  const lines = canAct ? [] : ['import mosaic_lab as mosaic', '', 'lab = mosaic.Lab()', ''];
  return (
    <div className="mosaic-runs-empty">
      <p>
        <strong>{hasStore ? trans.__('No runs yet.') : trans.__('No run store yet.')}</strong>
      </p>
      <p>
        {canAct
          ? trans.__('The runs of this notebook’s lab are listed here. Start one in a cell:')
          : trans.__('Runs are listed here as soon as a notebook has a lab. Type in a cell:')}
      </p>
      <pre>{[...lines, ...TRAIN].join('\n')}</pre>
      {!canAct && (
        <p className="mosaic-dim">
          {trans.__('If the kernel has no mosaic-lab yet, install it first:')}{' '}
          <code>%pip install mosaic-lab</code>
        </p>
      )}
      {onNew && (
        <button type="button" className="mosaic-runs-button mosaic-mod-text" onClick={onNew}>
          {trans.__('New training …')}
        </button>
      )}
    </div>
  );
}
