/** The section "Workers" of the runs panel. */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { JSX } from 'react';

import type { Progress } from '../../shared/run-api.ts';
import type { IRunSources } from '../tokens.ts';
import './workers.css';
import { trans } from '../../views/translation.ts';
import { type WorkersSource, WorkersView } from './workers-view.tsx';

/** Reads workers; with a kernel, installs and checks them. */
class Workers implements WorkersSource {
  constructor(sources: IRunSources) {
    this._sources = sources;
  }

  get whyNot(): string {
    const sources = this._sources.sources;
    return sources.some(source => source.canAct) ? '' : (sources[0]?.whyNot ?? '');
  }

  async workers() {
    return (await this._sources.call('workers', {})).result.rows;
  }

  async act(action: 'install' | 'check', worker: string, progress: (line: string) => void): Promise<void> {
    const listen = (_: IRunSources, said: Progress) => {
      if (said.worker === worker && said.line) {
        progress(said.line);
      }
    };
    this._sources.progressed.connect(listen);
    try {
      await this._sources.call(action, { worker });
    } finally {
      this._sources.progressed.disconnect(listen);
    }
  }

  onChange(listener: () => void): () => void {
    this._sources.changed.connect(listener);
    return () => this._sources.changed.disconnect(listener);
  }

  private readonly _sources: IRunSources;
}

export class WorkersSection extends ReactWidget {
  constructor(sources: IRunSources) {
    super();
    this._workers = new Workers(sources);
    this.title.label = trans.__('Workers');
    this.id = 'mosaic-lab-workers';
    this.addClass('mosaic-workers-section');
  }

  /** Reads the workers when the section is first opened. */
  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._open();
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._open();
    }
  }

  private _open(): void {
    if (!this._opened) {
      this._opened = true;
      this.update();
    }
  }

  protected render(): JSX.Element | null {
    return this._opened ? <WorkersView source={this._workers} /> : null;
  }

  private readonly _workers: Workers;
  private _opened = false;
}
