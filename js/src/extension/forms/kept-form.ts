/** Keeps the values of a form while its tab is open, including over reloads of the page. */

import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';

import type { FormKind } from '../../shared/run-api.ts';
import { type Filled, filledOf } from './form-model.ts';

const SAVE_MS = 500;

export class KeptForm {
  /** Without `states`, nothing is kept. */
  constructor(states: IStateDB | null, kind: FormKind) {
    this._states = states;
    this._key = `mosaic-lab:${kind}-form`;
  }

  async fetch(): Promise<Filled> {
    return filledOf(await this._states?.fetch(this._key));
  }

  save(filled: Filled): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(
      () => void this._states?.save(this._key, filled as unknown as ReadonlyPartialJSONValue),
      SAVE_MS
    );
  }

  /** Discard the values of a closed tab; the next one starts with the defaults. */
  remove(): void {
    clearTimeout(this._timer);
    void this._states?.remove(this._key);
  }

  private readonly _states: IStateDB | null;
  private readonly _key: string;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
