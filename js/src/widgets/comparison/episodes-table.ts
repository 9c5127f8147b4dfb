/** The finished episodes of a comparison, newest first. */

import { type Cell, type Column, Table } from '../common/table.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { EpisodeRow, EpisodesTableTraits } from '../messages.ts';

const COLUMNS: (Column & { name: Exclude<keyof EpisodeRow, 'returns'> })[] = [
  { name: 'lane', title: 'Lane', numeric: false },
  { name: 'operator', title: 'Operator', numeric: false },
  { name: 'seed', title: 'Seed', numeric: true },
  { name: 'return', title: 'Return', numeric: true },
  { name: 'length', title: 'Steps', numeric: true },
  { name: 'end', title: 'End', numeric: false },
  { name: 'faults', title: 'Faults', numeric: true },
  { name: 'seconds', title: 'Time', numeric: true }
];

function cellsOf(row: EpisodeRow): Cell[] {
  const returns = Object.entries(row.returns).map(([agent, value]) => `${agent} ${value}`);
  return COLUMNS.map(({ name }) => {
    if (name === 'lane') return { text: row.lane, color: row.color };
    if (name === 'return') return { text: row.return, hint: returns.join(', ') };
    return { text: row[name] };
  });
}

function render({ model, el }: RenderContext<EpisodesTableTraits>): void {
  const table = new Table(el);
  const draw = () => {
    const [rows, total] = [model.get('rows'), model.get('total')];
    const more = total > rows.length ? `, the last ${rows.length} of them here` : '';
    table.draw(COLUMNS, rows.map(cellsOf), `Finished episodes: ${total}${more}`);
  };
  onChange(model, ['rows', 'total'], draw);
  draw();
}

export default { render };
