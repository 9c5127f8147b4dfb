/** A line of the table in columns. */

import { number, whole } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import type { Column } from './columns.ts';
import { StateIcon } from './icons.tsx';
import { Bar, indent, type LineProps, LineState, NotesMark, Tags, Toggle, tooltip } from './line-parts.tsx';
import { RunName } from './run-name.tsx';
import { stateText } from './run-text.ts';
import { Sparkline } from './sparkline.tsx';
import { groupState, groupSummary, meanOf, shared } from './summary.ts';

/** A text-only cell is a single element: wide lines have many cells, and scrolling creates many lines. */
export function Cells(props: LineProps) {
  const { line, columns, now } = props;
  return columns.map((column, place) => {
    const text = line.entry && isText(column, line.entry.row) ? column.text(line.entry.row, now) : null;
    const number = column.numeric ? 'mosaic-mod-number' : '';
    return text === null ? (
      <div key={column.id} role="gridcell" aria-colindex={place + 1} className={`mosaic-runs-cell ${number}`}>
        {line.entry ? <RunCell {...props} column={column} /> : <GroupCell {...props} column={column} />}
      </div>
    ) : (
      <div
        key={column.id}
        role="gridcell"
        aria-colindex={place + 1}
        className={`mosaic-runs-cell mosaic-mod-text ${number}`}
        title={text.length > 12 ? text : undefined}
      >
        {text}
      </div>
    );
  });
}

const DRAWN: ReadonlySet<string> = new Set(['name', 'state', 'tags', 'sparkline']);

function isText({ id }: Column, row: RunRow): boolean {
  return id === 'progress' ? !row.alive || row.progress === null : !DRAWN.has(id);
}

type CellProps = LineProps & { readonly column: Column };

function NameCell(props: CellProps) {
  const { line } = props;
  return (
    <span className="mosaic-runs-first" style={indent(line.depth)} title={tooltip(line)}>
      <Toggle {...props} />
      {!props.columns.some(column => column.id === 'state') && <LineState {...props} />}
      <RunName name={line.title} />
      {line.entry && <NotesMark notes={line.entry.row.notes} />}
      {!line.entry && <span className="mosaic-runs-count">{line.members.length}</span>}
    </span>
  );
}

function RunCell(props: CellProps) {
  const { line, column, now } = props;
  const row = line.entry?.row;
  if (!row) {
    return null;
  }
  switch (column.id) {
    case 'name':
      return <NameCell {...props} />;
    case 'state':
      return (
        <span className="mosaic-runs-statecell" title={row.reason}>
          <StateIcon state={row.state} />
          {column.text(row, now)}
        </span>
      );
    case 'tags':
      return <Tags tags={row.tags} />;
    case 'sparkline':
      return <Sparkline values={row.sparkline} width={column.width - 16} height={18} />;
    case 'progress':
      return (
        <span className="mosaic-runs-progress">
          <Bar share={row.progress ?? 0} />
          {column.text(row, now)}
        </span>
      );
    default:
      return null;
  }
}

function GroupCell(props: CellProps) {
  const { line, column } = props;
  const { members } = line;
  switch (column.id) {
    case 'name':
      return <NameCell {...props} />;
    case 'state': {
      const state = groupState(members);
      return (
        <span className="mosaic-runs-statecell" title={groupSummary(members)}>
          <StateIcon state={state} />
          {whole(members.filter(({ row }) => row.state === state).length)} {stateText(state)}
        </span>
      );
    }
    case 'worker':
    case 'algorithm':
    case 'env':
      return <span className="mosaic-runs-text">{shared(members, column.id) ?? ''}</span>;
    case 'last_return':
    case 'best_return': {
      const mean = meanOf(members, column.id);
      return mean === null ? null : (
        <span className="mosaic-runs-text" title={trans.__('The mean of these runs')}>
          <span className="mosaic-runs-dim">⌀ </span>
          {number(mean)}
        </span>
      );
    }
    default:
      return null;
  }
}
