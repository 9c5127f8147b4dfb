/** React components as views of anywidget models. */

import { createElement, type ReactNode, useCallback, useRef, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { type Model, onChange, type RenderContext } from './anywidget.ts';

/** The current value of a trait, also if it changes before React's effects run. */
export function useTrait<Traits extends object, Name extends keyof Traits & string>(
  model: Model<Traits>,
  name: Name
): Traits[Name] {
  const subscribe = useCallback(
    (follow: () => void) => {
      onChange(model, [name], follow);
      return () => model.off(`change:${name}`, follow);
    },
    [model, name]
  );
  return useSyncExternalStore(subscribe, () => model.get(name));
}

/** A widget's view, rendered by `Component` into an element with these classes. */
export function view<Traits extends object>(
  Component: (context: RenderContext<Traits>) => ReactNode,
  ...classNames: string[]
) {
  return {
    render(context: RenderContext<Traits>): () => void {
      context.el.classList.add(...classNames);
      const root = createRoot(context.el);
      root.render(createElement(Component, context));
      return () => root.unmount();
    }
  };
}

/** The last value that was not null. */
export function useLast<Value>(value: Value | null): Value | null {
  const last = useRef(value);
  last.current = value ?? last.current;
  return last.current;
}
