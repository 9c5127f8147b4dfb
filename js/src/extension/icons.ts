/** The extension's own icons. */

import { LabIcon } from '@jupyterlab/ui-components';

/** Tiles of a mosaic that form a curve: for the runs panel, the launcher's cards and the settings. */
export const runsIcon = new LabIcon({
  name: 'mosaic-lab:runs',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M3 3h8v8H3zm2 2v4h4V5z" fill-rule="evenodd"/>
    <path d="M13 3h8v8h-8zM3 13h8v8H3z"/>
    <path d="M13 19.2l2.7-3.4 2 1.6 2.9-4.4 1.4 1-3.8 5.7-2.1-1.7-1.7 2.1z"/>
  </g>
</svg>`
});
