/** The trials of a sweep, sorted by the column whose title was last clicked. */

import { ordered } from '../../shared/order.ts';
import { Table } from '../common/table.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { TrialsTableTraits } from '../messages.ts';

function render({ model, el }: RenderContext<TrialsTableTraits>): void {
  const table = new Table(el);
  let order = { column: 0, descending: true };
  const draw = () => {
    const { columns = [], rows = [], caption = '' } = model.get('table');
    const direction = order.descending ? 'descending' : 'ascending';
    table.draw(
      columns.map((column, i) => ({ ...column, sort: i === order.column ? direction : 'none' })),
      ordered(rows, row => row[order.column]?.key ?? null, order.descending),
      caption
    );
  };
  table.onSort = column => {
    order = { column, descending: column === order.column ? !order.descending : true };
    draw();
    el.querySelectorAll<HTMLElement>('th .mosaic-sort')[column]?.focus();
  };
  onChange(model, ['table'], draw);
  draw();
}

export default { render };
