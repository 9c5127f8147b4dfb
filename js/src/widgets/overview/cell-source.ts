import { RunSource } from '../../shared/run-source.ts';
import type { WidgetManager } from '../host/ipywidgets.ts';

/** The run store of a widget, through the widget's kernel. */
export function cellSource({ kernel }: WidgetManager, store: string): RunSource {
  const whyNot = () => 'This needs the kernel that made it: run the cell again.';
  const source = new RunSource(store, { server: null, whyNot });
  source.setKernels(kernel ? [kernel] : []);
  return source;
}
