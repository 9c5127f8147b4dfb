/** The run store of a widget's kernel, read over a comm of that kernel. */

import { type ChannelKernel, KernelChannel } from '../../shared/kernel-channel.ts';
import type { Answer, Changes, Method, Methods, RunSource } from '../../shared/run-api.ts';
import { english } from '../../views/translation.ts';
import type { WidgetManager } from '../host/ipywidgets.ts';

export class CellSource implements RunSource {
  readonly store: string;
  readonly canAct = true;
  readonly whyNot = '';
  private readonly channel: KernelChannel | null;

  constructor(manager: WidgetManager, store: string) {
    this.store = store;
    const kernel = manager.kernel as unknown as ChannelKernel | null | undefined;
    this.channel = kernel
      ? new KernelChannel(kernel, store, { onStatus: () => {}, onProgress: () => {} }, english)
      : null;
  }

  get kernelId(): string | null {
    return this.channel?.kernel.id ?? null;
  }

  call<M extends Method>(method: M, params: Methods[M][0]): Promise<Answer<M>> {
    if (!this.channel) {
      return Promise.reject(new Error('This needs the kernel that made it: run the cell again.'));
    }
    return this.channel.call(method, params);
  }

  subscribe(listener: (changes: Changes) => void): () => void {
    return this.channel?.follow(listener) ?? (() => {});
  }

  onStatus(): () => void {
    return () => {};
  }
}
