/**
 * The page's widget manager, which is not a public interface: checked on jupyterlab_widgets 3.0.17.
 */

import type { Kernel } from '@jupyterlab/services';
import type { ModelReference } from '../messages.ts';
import type { Model } from './anywidget.ts';

export interface WidgetManager {
  get_model(id: string): Promise<unknown>;
  /** The kernel's connection; null without a kernel, undefined outside JupyterLab and Notebook. */
  readonly kernel?: Kernel.IKernelConnection | null;
}

/** The model to which another widget's trait refers. */
export async function modelOf<Traits extends object>(
  manager: WidgetManager,
  reference: ModelReference
): Promise<Model<Traits>> {
  return (await manager.get_model(reference.replace('IPY_MODEL_', ''))) as Model<Traits>;
}
