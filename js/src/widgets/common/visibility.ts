/**
 * Whether a part of the page is visible: scrolled into view, on a page that is not hidden. A panel reports
 * this to the kernel (the trait `presence`), so that a panel without a viewer costs nothing.
 */

import { type Model, send, viewName } from '../host/anywidget.ts';
import type { PanelTraits } from '../messages.ts';

const REPORT_MS = 15_000;
const MAX_REPORTS = 16;

export interface Visibility {
  /** The indices of the visible elements. */
  visible(): number[];
  observe(el: Element): void;
  end(): void;
}

/** Watch elements, indexed 0, 1, … in the order in which they are observed. */
export function watchVisibility(changed: () => void): Visibility {
  const observed: Element[] = [];
  const onScreen = new Set<Element>();
  const observer = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) onScreen.add(target);
      else onScreen.delete(target);
    }
    changed();
  });
  document.addEventListener('visibilitychange', changed);
  return {
    visible: () =>
      document.hidden ? [] : [...observed.keys()].filter(i => onScreen.has(observed[i] as Element)),
    observe: el => {
      observed.push(el);
      observer.observe(el);
    },
    end: () => {
      observer.disconnect();
      document.removeEventListener('visibilitychange', changed);
    }
  };
}

interface PanelVisibility {
  visible(): boolean;
  end(): void;
}

/** Report to the kernel whether the panel around `el` is visible: each change, and every 15 s while it is. */
export function reportVisibility<Traits extends PanelTraits>(
  model: Model<Traits>,
  el: Element
): PanelVisibility {
  const view = viewName();
  let number = 0;
  let reported: boolean | null = null;
  const report = (visible: boolean) => {
    reported = visible;
    // Several reports, from all views of this model: a later value replaces one not sent yet.
    const reports = [...model.get('presence'), [view, number++, visible] as const].slice(-MAX_REPORTS);
    send(model, 'presence', reports as Traits['presence']);
  };
  const visibility = watchVisibility(() => {
    const visible = visibility.visible().length > 0;
    if (visible !== reported) report(visible);
  });
  // The whole panel counts, to which this part is added a moment later: its chart may be visible without its
  // top.
  let attaching = 0;
  const observe = () => {
    const panel = el.closest('.mosaic-panel');
    if (panel) visibility.observe(panel);
    else attaching = requestAnimationFrame(observe);
  };
  observe();
  const timer = setInterval(() => reported && report(true), REPORT_MS);
  return {
    visible: () => reported === true,
    end: () => {
      clearInterval(timer);
      cancelAnimationFrame(attaching);
      visibility.end();
      report(false);
    }
  };
}
