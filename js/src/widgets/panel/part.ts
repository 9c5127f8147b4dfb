/**
 * The parts of a panel, rendered by one module for all panels of a page. Each model of a widget sends its code
 * to the page; that of the parts comes with the header of each panel, and is evaluated for the first.
 *
 * `build.js` names the part of an entry in its query, such as `part.ts?footer`.
 */

import { VERSION } from '../../shared/page-extension.ts';
import type { RenderContext } from '../host/anywidget.ts';

type Parts = typeof import('./panel.tsx');
type Load = () => Promise<Parts>;

declare const __resourceQuery: string;
const NAME = `mosaic-lab ${VERSION} panel`;

/** How the page loads the parts: from the first header of this version. */
export function loader(): PromiseWithResolvers<Load> {
  const page = globalThis as { [name: string]: unknown };
  page[NAME] ??= Promise.withResolvers<Load>();
  return page[NAME] as PromiseWithResolvers<Load>;
}

export function part(name: keyof Parts) {
  return {
    render: async (context: RenderContext<never>) => {
      const load = await loader().promise;
      const { render } = (await load())[name];
      return render(context);
    }
  };
}

export default part(__resourceQuery.slice(1) as keyof Parts);
