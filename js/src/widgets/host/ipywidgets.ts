/**
 * The page's widget manager, and access to ipycanvas' views through it. None of this is public interface:
 * checked on jupyterlab_widgets 3.0.17 and ipycanvas 0.14.3.
 */

import type { Kernel } from '@jupyterlab/services';
import type { ModelReference } from '../messages.ts';
import type { Model } from './anywidget.ts';

export interface WidgetManager {
  get_model(id: string): Promise<unknown>;
  create_view(model: unknown): Promise<unknown>;
  /** The kernel's connection; null without a kernel, undefined outside JupyterLab and Notebook. */
  readonly kernel?: Kernel.IKernelConnection | null;
}

interface CanvasModel {
  get(name: 'width' | 'height'): number;
  set(size: { width: number; height: number }): void;
}

interface CanvasView {
  readonly el: HTMLElement;
  readonly ctx: CanvasRenderingContext2D;
  remove(): void;
}

/** The model to which another widget's trait refers. */
export async function modelOf<Traits extends object>(
  manager: WidgetManager,
  reference: ModelReference
): Promise<Model<Traits>> {
  return (await manager.get_model(reference.replace('IPY_MODEL_', ''))) as Model<Traits>;
}

/** One view of an ipycanvas `Canvas`, drawn only from this page and never from the kernel. */
export class Canvas {
  private readonly model: CanvasModel;
  private readonly view: CanvasView;

  static async open(manager: WidgetManager, reference: ModelReference): Promise<Canvas> {
    const model = await manager.get_model(reference.replace('IPY_MODEL_', ''));
    return new Canvas(model, await manager.create_view(model));
  }

  constructor(model: unknown, view: unknown) {
    this.model = model as CanvasModel;
    this.view = view as CanvasView;
    if (!this.view.ctx) {
      throw new Error('this version of ipycanvas has a different interface than 0.14.3');
    }
    // It would report every mouse move and capture keys and the wheel; frames are only displayed.
    this.el.tabIndex = -1;
    this.el.setAttribute('role', 'img');
  }

  get el(): HTMLElement {
    return this.view.el;
  }

  /** The view's context in this size. The model's own canvas, a copy for views to come, stays empty. */
  context(width: number, height: number): CanvasRenderingContext2D {
    const { model, view } = this;
    if (model.get('width') !== width || model.get('height') !== height) {
      model.set({ width, height }); // in the page only: the kernel never reads it
    }
    return view.ctx;
  }

  close(): void {
    this.view.remove();
  }
}
