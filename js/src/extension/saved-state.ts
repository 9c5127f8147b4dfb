/** A value that JupyterLab keeps over reloads of the page. */

import type { IStateDB } from '@jupyterlab/statedb';

const SAVE_MS = 300;

export class SavedState {
  /** Without `states`, nothing is kept. */
  constructor(states: IStateDB | null, key: string) {
    this._states = states;
    this._key = key;
  }

  async fetch(): Promise<unknown> {
    const value = await this._states?.fetch(this._key);
    this._saved = JSON.stringify(value);
    return value;
  }

  /** Save the value in a moment, if it has changed; the latest of several. */
  save(value: object): void {
    this._value = value;
    this._timer ??= setTimeout(() => this.flush(), SAVE_MS);
  }

  /** Save now what is to be saved. */
  flush(): void {
    if (this._timer === undefined) return;
    this._cancel();
    const text = JSON.stringify(this._value);
    if (text === this._saved) return;
    this._saved = text;
    this._states?.save(this._key, JSON.parse(text)).catch(reason => console.warn('MOSAIC:', reason));
  }

  remove(): void {
    this._cancel();
    void this._states?.remove(this._key);
  }

  private _cancel(): void {
    clearTimeout(this._timer);
    this._timer = undefined;
  }

  private readonly _states: IStateDB | null;
  private readonly _key: string;
  private _value: object = {};
  private _saved: string | undefined;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
