/** Plugin: shows a notification when a run that is not visible ends. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { trans } from '../views/translation.ts';
import { Endings, isBad, type Notice } from './endings.ts';
import { isInSight } from './shown-runs.ts';
import { CommandIDs, type IEndedRun, IRunWatch, ISettings } from './tokens.ts';

const SHOWN_MS = 10_000;
/** Maximum number of failures that stay until they are dismissed: the newest. */
const MAX_STAYING_NOTICES = 3;

export const notificationsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:notifications',
  description: 'Notifies of runs that end or fail while they are not visible.',
  autoStart: true,
  requires: [IRunWatch, ISettings],
  optional: [INotebookTracker],
  activate: (
    { commands }: JupyterFrontEnd,
    watch: IRunWatch,
    settings: ISettings,
    notebooks: INotebookTracker | null
  ) => {
    const endings = new Endings();
    const staying: string[] = [];
    watch.ended.connect(async (_, run: IEndedRun) => {
      const level = settings.get('notifications');
      if (level === 'none' || (level === 'failures' && !isBad(run.row.state))) return;
      if (await isInSight(run.row.id, notebooks)) return;
      const ending = endings.take(run);
      if (!ending) return;
      const notice = endings.notice(ending);
      const options = {
        actions: actions(notice, commands),
        autoClose: notice.type === 'error' || document.hidden ? (false as const) : SHOWN_MS
      };
      const { message, type } = notice;
      if (
        ending.shown === undefined ||
        !Notification.update({ id: ending.shown, message, type, ...options })
      ) {
        ending.shown = Notification.emit(message, type, options);
        if (type === 'error') staying.push(ending.shown);
        for (const old of staying.splice(0, staying.length - MAX_STAYING_NOTICES)) Notification.dismiss(old);
      }
    });
  }
};

/** The actions of a notification for which a command exists. */
function actions({ runs }: Notice, commands: JupyterFrontEnd['commands']): Notification.IAction[] {
  const store = runs[0]?.store ?? '';
  const ids = runs.map(({ row }) => row.id);
  const failed = runs.find(({ row }) => row.state === 'failed' || row.state === 'lost');
  const panel = { store, runs: ids };
  const log = { store, runs: [failed?.row.id ?? ids[0] ?? ''] };
  /** A panel needs a kernel; the list of runs does not. */
  const show = () =>
    commands.isEnabled(CommandIDs.openRunPanel, panel)
      ? commands.execute(CommandIDs.openRunPanel, panel)
      : commands.execute(CommandIDs.showRuns);
  const buttons: Notification.IAction[] = [];
  if (commands.hasCommand(CommandIDs.showRuns)) {
    buttons.push({ label: trans.__('Show'), callback: () => void show() });
  }
  if (commands.hasCommand(CommandIDs.showLog)) {
    buttons.push({ label: trans.__('Log'), callback: () => void commands.execute(CommandIDs.showLog, log) });
  }
  return buttons;
}
