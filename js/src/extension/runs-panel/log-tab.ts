/** A tab with the end of a run's log, followed while the run is alive, below the reason of a failure. */

import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import type { RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { stateText } from '../../views/runs/run-text.ts';
import { trans } from '../../views/translation.ts';

const LINES = 2000;
const PAUSE_MS = 1500;
/** A worker that is starting writes its log before any of its numbers change. */
const LOOK_MS = 10_000;
/** Distance from the end within which the log is followed to its end. */
const NEAR_PX = 30;

export class LogTab extends Widget {
  constructor(source: RunSource, run: string) {
    super();
    this.addClass('mosaic-run-log');
    this.node.dataset.mosaicRuns = run;
    this.source = source;
    this.runs = [run];
    this.node.tabIndex = 0;
    this._text = document.createElement('pre');
    this._text.setAttribute('role', 'log');
    this._text.setAttribute('aria-label', trans.__('Log'));
    this.node.append(this._notice, this._text);
    this._run = run;
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this._read();
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._end = this.source.subscribe(({ rows, removed }) => {
      const row = rows.find(candidate => candidate.id === this._run);
      if (row) {
        this._removed = false;
        this._alive = row.alive;
        const failed = row.state === 'failed' || row.state === 'lost';
        this._reason = failed ? `${stateText(row.state)}: ${row.reason}` : '';
        void this._read();
      } else if (removed.includes(this._run)) {
        this._alive = false;
        this._removed = true;
        this._say(trans.__('The run was removed. Its log, as it was last read:'));
      }
    });
    this._timer = setInterval(() => this._alive && void this._read(), LOOK_MS);
    void this._read();
  }

  protected onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    this._end?.();
    clearInterval(this._timer);
  }

  /** Read the log at a limited rate, and again if something arrived meanwhile. */
  private async _read(): Promise<void> {
    if (this._removed) return;
    if (this._reading || !this.isVisible) {
      this._again = true;
      return;
    }
    this._reading = true;
    this._again = false;
    try {
      const { result } = await this.source.call('log', { run: this._run, lines: LINES });
      this._show(result.text || trans.__('(The log is empty.)'));
    } catch (reason) {
      if (!this._removed) this._say(messageOf(reason));
    }
    setTimeout(() => {
      this._reading = false;
      if (this._again && this.isAttached) void this._read();
    }, PAUSE_MS);
  }

  private _show(text: string): void {
    const { node } = this;
    const atEnd = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR_PX || !this._text.textContent;
    if (!this._removed) this._say(this._reason);
    if (this._text.textContent !== text) this._text.textContent = text;
    if (atEnd) node.scrollTop = node.scrollHeight;
  }

  private _say(text: string): void {
    this._notice.textContent = text;
    this._notice.hidden = text === '';
  }

  readonly source: RunSource;
  readonly runs: readonly string[];
  private readonly _run: string;
  private readonly _text: HTMLPreElement;
  private readonly _notice = document.createElement('p');
  private _end: (() => void) | undefined;
  private _timer: ReturnType<typeof setInterval> | undefined;
  private _alive = true;
  private _reason = '';
  private _removed = false;
  private _reading = false;
  private _again = false;
}
