/** A table of texts: operators of an evaluation, episodes of a comparison, trials of a sweep. */

import { memo, useCallback, useState } from 'react';
import { ordered } from '../../shared/order.ts';
import { Swatch } from '../common/parts.tsx';
import { type RenderContext, send } from '../host/anywidget.ts';
import { useTrait, view } from '../host/react.ts';
import type { TableCell, TableTraits } from '../messages.ts';

/** A sortable table is initially sorted by its first column, descending. */
function Table({ model }: RenderContext<TableTraits>) {
  const { columns = [], rows = [], caption, sortable = false } = useTrait(model, 'table');
  const [{ column, descending }, setOrder] = useState({ column: 0, descending: true });
  const chosen = JSON.stringify(useTrait(model, 'chosen').id);
  const choose = useCallback((id: unknown) => send(model, 'chosen', { id, number: Date.now() }), [model]);
  if (rows.length === 0) return null;
  const heading = (title: string, i: number) => (
    <button
      type="button"
      className="mosaic-sort"
      onClick={() => setOrder({ column: i, descending: i !== column || !descending })}
    >
      {title}
    </button>
  );
  const direction = descending ? 'descending' : 'ascending';
  return (
    <div className="mosaic-table">
      <table>
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ title, numeric }, i) => (
              <th
                key={i}
                scope="col"
                className={alignment(numeric)}
                aria-sort={sortable ? (i === column ? direction : 'none') : undefined}
              >
                {sortable ? heading(title, i) : title}
              </th>
            ))}
          </tr>
        </thead>
        <Rows
          rows={sortable ? ordered(rows, row => row[column]?.key ?? null, descending) : rows}
          numeric={columns.map(({ numeric }) => numeric)}
          chosen={chosen}
          choose={choose}
        />
      </table>
    </div>
  );
}

interface RowProps {
  readonly numeric: readonly boolean[];
  readonly choose: (id: unknown) => void;
}

interface RowsProps extends RowProps {
  readonly rows: readonly TableCell[][];
  /** The id of the row clicked last, as JSON. */
  readonly chosen: string | undefined;
}

/** Rows are keyed by their content: an update changes few of hundreds. */
function Rows({ rows, numeric, chosen, choose }: RowsProps) {
  const counts = new Map<string, number>();
  return (
    <tbody>
      {rows.map(cells => {
        const content = JSON.stringify([cells, numeric]);
        const count = (counts.get(content) ?? 0) + 1;
        counts.set(content, count);
        const id = cells[0]?.choose;
        const isChosen = id !== undefined && JSON.stringify(id) === chosen;
        return <Row key={`${count} ${content}`} {...{ cells, numeric, isChosen, choose }} />;
      })}
    </tbody>
  );
}

const Row = memo(
  ({ cells, numeric, isChosen, choose }: RowProps & { cells: readonly TableCell[]; isChosen: boolean }) => (
    <tr
      className={cells[0]?.choose === undefined ? undefined : 'mosaic-choosable'}
      aria-current={isChosen || undefined}
    >
      {cells.map(({ text, color, hint, choose: id }, i) => (
        <td key={i} className={alignment(numeric[i])} title={hint || undefined}>
          {color && <Swatch color={color} />}
          {id === undefined ? (
            text
          ) : (
            <button
              type="button"
              className="mosaic-choose"
              aria-label={`${hint}: ${text}`}
              onClick={() => choose(id)}
            >
              {text}
            </button>
          )}
        </td>
      ))}
    </tr>
  ),
  (before, now) => before.isChosen === now.isChosen
);

function alignment(numeric = false): string {
  return numeric ? 'mosaic-numeric' : '';
}

export default view(Table);
