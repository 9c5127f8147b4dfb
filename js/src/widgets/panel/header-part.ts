import './panel.css';
import { loader, part } from './part.ts';

loader().resolve(() => import(/* webpackMode: "eager" */ './panel.tsx'));

export default part('header');
