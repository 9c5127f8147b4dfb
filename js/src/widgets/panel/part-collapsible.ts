import { part } from './part.ts';

export default part('collapsible');
