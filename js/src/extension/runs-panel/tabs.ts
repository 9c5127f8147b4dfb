/** Tabs for runs: a kernel's live panel, a comparison, a log. All are restored after a reload. */

import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { type MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

import type { ExchangePlace } from '../../shared/run-api.ts';
import { type RunSource, runKey } from '../../shared/run-source.ts';
import type { RunTable } from '../../views/runs/run-table.ts';
import { bySource, nameOf, type Target } from '../../views/runs/targets.ts';
import { trans } from '../../views/translation.ts';
import { runsIcon } from '../icons.ts';
import { newTab, showTab } from '../show-tab.ts';
import { CommandIDs } from '../tokens.ts';
import { LogTab } from './log-tab.ts';
import { type PanelMethod, PanelTab } from './panel-tab.ts';

type Content = Widget & Pick<PanelTab, 'source' | 'runs'>;
type Tab = MainAreaWidget<Content>;

export class RunTabs {
  constructor(app: JupyterFrontEnd, table: RunTable, notebooks: INotebookTracker) {
    this._app = app;
    this._table = table;
    this._notebooks = notebooks;
  }

  restore(restorer: ILayoutRestorer): void {
    const args = ({ content }: Tab) => ({ store: content.source.store, runs: [...content.runs] });
    const name = ({ id }: Tab) => id;
    void restorer.restore(this._panels, { command: CommandIDs.openRunPanel, args, name });
    void restorer.restore(this._comparisons, { command: CommandIDs.compareRuns, args, name });
    void restorer.restore(this._logs, { command: CommandIDs.showLog, args, name });
  }

  openPanel(targets: readonly Target[]): void {
    const title = targets.length === 1 ? '%1' : trans.__('%1 runs', targets.length);
    this._open('panel', this._panels, targets, title, this._making('panel'));
  }

  /** Open the comparison that a kernel creates of these runs, or created for such a tab before a reload. */
  openComparison(targets: readonly Target[]): void {
    const title = trans.__('Comparison');
    this._open('compare', this._comparisons, targets, title, this._making('compare'));
  }

  /** Open a replay of an evaluation's episode, at a step. It is not restored after a reload. */
  openReplay(source: RunSource, runs: readonly string[], exchange: ExchangePlace): void {
    const tab = new PanelTab('replay', source, runs, this._notebooks, exchange);
    const label = trans.__('Replay of %1, seed %2', exchange.operator, exchange.seed ?? '–');
    const id = `mosaic-lab-replay:${source.store}:${runs.join(' ')}:${exchange.id}`;
    showTab(this._app, newTab(tab, id, { label, icon: runsIcon }));
  }

  openLog(target: Target): void {
    const title = trans.__('Log of %1', '%1');
    this._open('log', this._logs, [target], title, source => new LogTab(source, target.id));
  }

  private _making(method: PanelMethod): (source: Target['source'], runs: readonly string[]) => PanelTab {
    return (source, runs) => new PanelTab(method, source, runs, this._notebooks);
  }

  /** Activate the tab of these runs, or create it. The title of a single run's tab follows the run's name. */
  private _open(
    kind: string,
    tracker: WidgetTracker<Tab>,
    targets: readonly Target[],
    title: string,
    make: (source: Target['source'], runs: readonly string[]) => Content
  ): void {
    const [[source, runs] = []] = bySource(targets);
    const [first] = targets;
    if (!source || !runs || !first) return;
    const id = `mosaic-lab-${kind}:${source.store}:${runs.join(' ')}`;
    const openTab = tracker.find(tab => tab.id === id);
    const tab: Tab = openTab ?? newTab(make(source, runs), id, { icon: runsIcon });
    if (!openTab) {
      let { row } = first;
      const name = () => {
        const resumed = this._table.snapshot.titles.get(runKey(source.store, first.id));
        const text = resumed ?? nameOf({ ...first, row });
        tab.title.label = tab.title.caption = title.replace('%1', () => text);
      };
      const endings = [
        source.subscribe(({ rows }) => {
          row = rows.find(candidate => candidate.id === first.id) ?? row;
          name();
        }),
        this._table.subscribe(name)
      ];
      name();
      tab.disposed.connect(() => {
        for (const end of endings) end();
      });
      void tracker.add(tab);
    }
    showTab(this._app, tab);
  }

  private readonly _app: JupyterFrontEnd;
  private readonly _table: RunTable;
  private readonly _notebooks: INotebookTracker;
  private readonly _panels = new WidgetTracker<Tab>({ namespace: 'mosaic-lab-panels' });
  private readonly _logs = new WidgetTracker<Tab>({ namespace: 'mosaic-lab-logs' });
  private readonly _comparisons = new WidgetTracker<Tab>({ namespace: 'mosaic-lab-comparisons' });
}
