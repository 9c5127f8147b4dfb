/** The axes of a chart: the theme's fonts and colours, and ticks that fit. */

import uPlot from 'uplot';
import type { ChartView } from './line-chart.ts';
import { durationTicks, logTicks, logTickTexts, tickTexts, X_SPACE, xSpace } from './ticks.ts';

const FONT = '11px var(--jp-ui-font-family, system-ui, sans-serif)';
/** Tick intervals on an axis of durations. */
const SECONDS = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map(minutes => 60 * minutes),
  ...[1, 2, 3, 6, 12].map(hours => 3600 * hours),
  ...[1, 2, 5, 10, 20, 50].map(days => 86_400 * days)
];
/** Minimum distance between ticks, in CSS pixels. */
const Y_SPACE = 32;
/** Height of the x axis title, in CSS pixels. */
const TITLE_SIZE = 14;

/** The x and the y axis of a chart in `el`. */
export function chartAxes(el: Element, { axis, xTitle, xLog, yLog }: ChartView): uPlot.Axis[] {
  const style = getComputedStyle(el);
  const text = style.getPropertyValue('--mosaic-chart-text').trim() || '#444';
  const line = style.getPropertyValue('--mosaic-chart-grid').trim() || '#ddd';
  const font = FONT.replace(/var\(.*\)/, style.fontFamily || 'sans-serif');
  const look = {
    stroke: text,
    font,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 }
  };
  const durations = axis === 'relative' && !xLog;
  return [
    {
      ...look,
      size: axis === 'time' ? 38 : 26,
      gap: 4,
      space: axis === 'time' || durations ? X_SPACE : (_plot, _axis, _low, _high, width) => xSpace(width),
      label: xTitle,
      labelFont: font,
      labelSize: TITLE_SIZE,
      labelGap: 0,
      ...(xLog ? logSplits(({ bbox }) => bbox.width / X_SPACE) : {}),
      ...(axis === 'time'
        ? {}
        : { values: durations ? relativeTexts : tickValues(xLog), grid: { show: false } }),
      ...(durations ? { incrs: SECONDS } : {})
    },
    {
      ...look,
      gap: 4,
      space: Y_SPACE,
      ...(yLog ? logSplits(({ bbox }) => bbox.height / Y_SPACE) : {}),
      size: labelWidth,
      values: tickValues(yLog)
    }
  ];
}

function tickValues(log: boolean): uPlot.Axis.DynamicValues {
  return (_plot, ticks, _axis, _space, step) => (log ? logTickTexts(ticks) : tickTexts(ticks, step));
}

const relativeTexts: uPlot.Axis.DynamicValues = (_plot, ticks, _axis, _space, step) =>
  durationTicks(ticks, step);

/** The width of the longest label. */
function labelWidth(plot: uPlot, texts: string[] | null): number {
  const longest = Math.max(0, ...(texts ?? []).map(text => text?.length ?? 0));
  plot.ctx.font = `${11 * uPlot.pxRatio}px sans-serif`;
  const width = longest ? plot.ctx.measureText('0'.repeat(longest)).width / uPlot.pxRatio : 0;
  return Math.max(34, Math.ceil(width) + 14);
}

/** Our own ticks for a logarithmic axis, as many as fit, all labelled. */
function logSplits(length: (plot: uPlot) => number): Pick<uPlot.Axis, 'splits' | 'filter'> {
  return {
    splits: (plot, _axis, low, high) => logTicks(low, high, Math.floor(length(plot) / uPlot.pxRatio)),
    filter: (_plot, ticks) => ticks
  };
}
