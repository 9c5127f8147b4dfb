/** The parts of anywidget's interface in use (checked on anywidget 0.11). */

import type { WidgetManager } from './ipywidgets.ts';

/** A widget's synced traits. */
export interface Model<Traits extends object> {
  get<Name extends keyof Traits>(name: Name): Traits[Name];
  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void;
  set(values: Partial<Traits>): void;
  save_changes(): void;
  on(event: `change:${keyof Traits & string}`, listener: () => void): void;
  off(event: `change:${keyof Traits & string}`, listener: () => void): void;
  readonly widget_manager: WidgetManager;
}

export interface RenderContext<Traits extends object> {
  model: Model<Traits>;
  el: HTMLElement;
}

/** Set a trait here and in the kernel. */
export function send<Traits extends object, Name extends keyof Traits>(
  model: Model<Traits>,
  name: Name,
  value: Traits[Name]
): void {
  model.set(name, value);
  model.save_changes();
}

/** Call `draw` when one of these traits has changed. */
export function onChange<Traits extends object>(
  model: Model<Traits>,
  names: (keyof Traits & string)[],
  draw: () => void
): void {
  for (const name of names) model.on(`change:${name}`, draw);
}

/** A name for one view of a model; several pages may have several views. */
export function viewName(): string {
  return Math.random().toString(36).slice(2);
}
