/** All known run stores: those of open kernels, and those found below the folder of Jupyter's server. */

import { Signal } from '@lumino/signaling';
import { aboutKernel, aboutServer, VERSION } from '../../shared/page-extension.ts';
import type { Answer, Method, Methods, Progress } from '../../shared/run-api.ts';
import { RunSource } from '../../shared/run-source.ts';
import { trans } from '../../views/translation.ts';
import type { IKernelWithLab } from '../tokens.ts';
import type { ServerTransport } from './server-transport.ts';

/**
 * Minimum pause between two searches. The pause is also a multiple of the last search's duration, which
 * limits the cost to 1% of the server's time.
 */
const MIN_PAUSE_MS = 2000;
const PAUSE_PER_SEARCH = 100;

export class RunSources {
  /** Whether a search of the server has finished, successful or not. */
  searched = false;

  constructor(server: ServerTransport) {
    this._server = server;
    this._any = this._newSource(null);
  }

  /** The stores of open kernels, then stores found below the server's folder, most recently changed first. */
  get sources(): readonly RunSource[] {
    const paths = new Set([...this._kernels.flatMap(kernel => kernel.stores), ...this._found]);
    return [...paths].map(path => this.source(path));
  }

  /** Sentences about reasons for missing data: what to install, to restart or to wait for. */
  get notices(): readonly string[] {
    const kernels = this._kernels.map(({ version }) => aboutKernel(VERSION, version));
    return [...new Set([...kernels, this._aboutAwaited(), this._aboutServer(), this._cutShort])].filter(
      text => text !== ''
    );
  }

  /** Emitted when `sources`, `searched` or `notices` have changed. */
  readonly changed = new Signal<this, void>(this);

  /** Emitted with a kernel's reports during an installation. */
  readonly progressed = new Signal<this, Progress>(this);

  /** The source of a store, always the same object. It need not be among `sources`. */
  source(store: string): RunSource {
    let source = this._sources.get(store);
    if (!source) {
      source = this._newSource(store);
      source.setKernels(this._kernelsOf(store));
      this._sources.set(store, source);
    }
    return source;
  }

  /** Call a method that needs no store: `workers`, `forms`, `code`, and with a kernel `install` and `check`. */
  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>> {
    const store = this._kernels[0]?.stores[0];
    return (store === undefined ? this._any : this.source(store)).call(method, params);
  }

  /** Search for stores below the server's folder again. */
  search(): Promise<void> {
    this._search ??= this._searchOnce().finally(() => {
      this._search = null;
    });
    return this._search;
  }

  /** Search if the last search was long enough ago, relative to its duration, to keep the cost low. */
  searchNowAndThen(): void {
    const kind = this._server.state?.kind;
    if (kind && ['answers', 'gone', 'silent'].includes(kind) && Date.now() >= this._again) void this.search();
  }

  /** `awaited`: the notebooks of kernels that may have a `Lab` but cannot answer yet. */
  setKernels(kernels: readonly IKernelWithLab[], awaited: readonly string[] = []): void {
    const before = this.sources;
    this._kernels = kernels;
    this._awaited = awaited;
    const without = before.filter(source => !this.sources.includes(source)).map(({ store }) => store);
    if (without.length) {
      this._found = [...this._found, ...without]; // until the server reports them missing
      void this.search();
    }
    for (const [store, source] of this._sources) source.setKernels(this._kernelsOf(store));
    this.changed.emit();
  }

  /** Called when the server's answers have changed. */
  readonly onServer = (): void => {
    if (this._missed && this._server.state?.kind === 'answers') {
      this._missed = false;
      void this.search();
    }
    this.changed.emit();
  };

  private async _searchOnce(): Promise<void> {
    let pause = MIN_PAUSE_MS;
    try {
      const { stores, cut_short, seconds } = await this._server.stores();
      const paths = stores.map(store => store.path);
      // Stores not found by an incomplete search may still exist.
      const unseen = cut_short ? this._found.filter(path => !paths.includes(path)) : [];
      this._found = [...paths, ...unseen];
      pause = Math.max(pause, 1000 * PAUSE_PER_SEARCH * seconds);
      this._missed = false;
      this._cutShort = cut_short && trans.__('There may be more run stores: %1.', cut_short);
    } catch (reason) {
      this._missed = true;
      console.debug('MOSAIC: the server was not searched for run stores:', reason);
    }
    this._again = Date.now() + pause;
    this.searched = true;
    this.changed.emit();
  }

  private _kernelsOf(store: string): IKernelWithLab['kernel'][] {
    return this._kernels.filter(({ stores }) => stores.includes(store)).map(({ kernel }) => kernel);
  }

  private _newSource(store: string | null): RunSource {
    return new RunSource(store ?? '', {
      server: this._server.to(store),
      whyNot: () => this._whyNot(),
      onProgress: progress => this.progressed.emit(progress)
    });
  }

  private _whyNot(): string {
    return (
      this._aboutAwaited() ||
      trans.__('Run mosaic_lab.Lab(…) on this store in a notebook to stop, rename or compare runs.')
    );
  }

  private _aboutAwaited(): string {
    const { length } = this._awaited;
    return length === 0
      ? ''
      : trans._n(
          'The kernel of %2 is running a cell and does not answer. If it has a lab, runs can be stopped, renamed or compared once the cell finishes.',
          'The kernels of %2 are running cells and do not answer. If they have a lab, runs can be stopped, renamed or compared when the cells have ended.',
          length,
          this._awaited.join(', ')
        );
  }

  private _aboutServer(): string {
    const { state } = this._server;
    switch (state?.kind) {
      case 'answers':
        return aboutServer(VERSION, state.version);
      case 'no-extension':
        return trans.__(
          'Jupyter’s server has no mosaic-lab, so only runs of open kernels are shown: install it in the server’s environment (pip install mosaic-lab) and restart the server.'
        );
      case 'gone':
        return trans.__('Jupyter’s server cannot be reached. What is shown may be out of date.');
      case 'silent':
        return trans.__('Jupyter’s server does not answer. What is shown may be out of date.');
      case 'logged-out':
        return trans.__('Jupyter’s server no longer accepts this page: log in again, and reload it.');
      default:
        return '';
    }
  }

  private readonly _server: ServerTransport;
  /** For methods that need no store. */
  private readonly _any: RunSource;
  private readonly _sources = new Map<string, RunSource>();
  private _kernels: readonly IKernelWithLab[] = [];
  private _awaited: readonly string[] = [];
  private _found: readonly string[] = [];
  private _cutShort = '';
  /** Whether the last search failed. */
  private _missed = false;
  private _search: Promise<void> | null = null;
  /** Earliest time of the next automatic search. */
  private _again = 0;
}
