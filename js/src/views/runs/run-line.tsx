/** A line of the table: in columns or, in limited space, in two rows of text. */

import { type CSSProperties, memo } from 'react';

import { integerText, number } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import type { Column } from './columns.ts';
import { Icon, StateIcon } from './icons.tsx';
import {
  Bar,
  indent,
  type LineProps,
  LineState,
  NotesMark,
  Sparkline,
  Tags,
  Toggle,
  tooltip
} from './line-parts.tsx';
import { RunName } from './run-name.tsx';
import { groupState, groupSummary, meanOf, runSummary, shared, stateText, storeSummary } from './run-text.ts';
import type { Line } from './tree.ts';

/** Rendered again only if its content has changed. */
export const RunLine = memo(LineView, (before, after) =>
  (Object.keys(after) as (keyof LineProps)[]).every(
    name =>
      Object.is(before[name], after[name]) ||
      (name === 'line' && sameLine(before.line, after.line)) ||
      (name === 'now' &&
        !after.line.members.some(({ row }) => row.alive) &&
        sameMinute(before.now, after.now))
  )
);

function sameLine(a: Line, b: Line): boolean {
  const sameMembers =
    a.members.length === b.members.length && a.members.every((member, index) => member === b.members[index]);
  return (
    sameMembers && (Object.keys(a) as (keyof Line)[]).every(name => name === 'members' || a[name] === b[name])
  );
}

function sameMinute(a: number, b: number): boolean {
  return Math.floor(a / 60) === Math.floor(b / 60);
}

function LineView(props: LineProps) {
  const { line, compact } = props;
  const style: CSSProperties = { transform: `translateY(${props.top}px)`, height: props.height };
  return (
    <div
      role="row"
      id={props.id}
      className={`mosaic-runs-line mosaic-mod-${line.kind}`}
      style={style}
      aria-rowindex={props.index + 2}
      aria-level={line.depth + 1}
      aria-posinset={line.place}
      aria-setsize={line.siblings}
      aria-selected={props.selected}
      aria-expanded={line.open ?? undefined}
      data-focused={props.focused || undefined}
      onClick={event => props.onClick(line, event)}
      onContextMenu={event => props.onClick(line, event)}
      onDoubleClick={() => props.onOpen(line)}
    >
      {line.kind === 'store' ? (
        <StoreCell {...props} />
      ) : compact ? (
        <CompactCell {...props} />
      ) : (
        <Cells {...props} />
      )}
    </div>
  );
}

function StoreCell(props: LineProps) {
  const { line, readOnly } = props;
  return (
    <div
      role="gridcell"
      className="mosaic-runs-store"
      title={[line.store, readOnly].filter(Boolean).join('\n')}
    >
      <Toggle {...props} />
      <span className="mosaic-runs-label">{line.title}</span>
      {readOnly && (
        <span className="mosaic-runs-readonly">
          <Icon name="lock" />
          {trans.__('read-only')}
        </span>
      )}
      <span className="mosaic-dim">{storeSummary(line.members)}</span>
    </div>
  );
}

function CompactCell(props: LineProps) {
  const { line, now } = props;
  const { entry, members } = line;
  const last = entry ? entry.row.last_return : meanOf(members, 'last_return');
  const progress = entry?.row.alive ? entry.row.progress : null;
  return (
    <div role="gridcell" className="mosaic-runs-compact" style={indent(line.depth)} title={tooltip(line)}>
      <Toggle {...props} />
      <LineState {...props} />
      <div className="mosaic-runs-lines">
        <div>
          <RunName name={line.title} />
          {entry && <NotesMark notes={entry.row.notes} />}
          <span className="mosaic-runs-number">
            {!entry && last !== null && <span className="mosaic-dim">⌀ </span>}
            {last !== null && number(last)}
          </span>
        </div>
        <div className="mosaic-dim">
          <span className="mosaic-runs-summary">
            {entry ? runSummary(entry.row, now) : groupSummary(members)}
          </span>
          {entry && <Tags tags={entry.row.tags} />}
          {entry && <Sparkline values={entry.row.sparkline} width={56} height={14} />}
        </div>
      </div>
      {progress !== null && <Bar share={progress} />}
    </div>
  );
}

/** A text-only cell is a single element: wide lines have many cells, and scrolling creates many lines. */
function Cells(props: LineProps) {
  const { line, columns, now } = props;
  return columns.map((column, index) => {
    const text = line.entry && isText(column, line.entry.row) ? column.text(line.entry.row, now) : null;
    const number = column.numeric ? 'mosaic-mod-number' : '';
    return text === null ? (
      <div key={column.id} role="gridcell" aria-colindex={index + 1} className={`mosaic-runs-cell ${number}`}>
        {line.entry ? <RunCell {...props} column={column} /> : <GroupCell {...props} column={column} />}
      </div>
    ) : (
      <div
        key={column.id}
        role="gridcell"
        aria-colindex={index + 1}
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
  if (!row) return null;
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
          {integerText(members.filter(({ row }) => row.state === state).length)} {stateText(state)}
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
          <span className="mosaic-dim">⌀ </span>
          {number(mean)}
        </span>
      );
    }
    default:
      return null;
  }
}
