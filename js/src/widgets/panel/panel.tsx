/** The parts of a panel as views; see `part.ts`. */

import { view } from '../host/react.ts';
import { Controls } from './controls.tsx';
import { CollapsibleHead, Footer } from './footer.tsx';
import { Header } from './header.tsx';

export const header = view(Header, 'mosaic-header');
export const controls = view(Controls, 'mosaic-controls');
export const footer = view(Footer, 'mosaic-footer');
export const collapsible = view(CollapsibleHead, 'mosaic-collapsible');
