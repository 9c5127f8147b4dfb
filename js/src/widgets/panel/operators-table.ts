/** The operators of an evaluation: their progress and results so far. */

import { Table } from '../common/table.ts';
import { onChange, type RenderContext } from '../host/anywidget.ts';
import type { OperatorsTableTraits } from '../messages.ts';

function render({ model, el }: RenderContext<OperatorsTableTraits>): void {
  el.classList.add('mosaic-scores');
  const table = new Table(el);
  const draw = () => {
    const { columns = [], rows = [] } = model.get('table');
    table.draw(
      columns.map((title, i) => ({ title, numeric: i > 0 })),
      rows.map(({ label, color, cells }) => [{ text: label, color }, ...cells.map(text => ({ text }))])
    );
  };
  onChange(model, ['table'], draw);
  draw();
}

export default { render };
