/** A line of the table: in columns, or, where there is little room, in two rows of text. */

import { type CSSProperties, type MouseEvent, memo } from 'react';

import { number, whole } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import type { Translation } from '../translation.ts';
import type { Column } from './columns.ts';
import { Icon, StateIcon } from './icons.tsx';
import { RunName } from './run-name.tsx';
import { stateText } from './run-text.ts';
import { Sparkline } from './sparkline.tsx';
import { groupState, groupSummary, meanOf, runSummary, shared, storeSummary } from './summary.ts';
import type { Line } from './tree.ts';

export interface LineProps {
  readonly line: Line;
  readonly id: string;
  readonly index: number;
  readonly top: number;
  readonly height: number;
  readonly compact: boolean;
  readonly columns: readonly Column[];
  readonly selected: boolean;
  readonly focused: boolean;
  /** Why the runs of a store's line can only be read; "" where they can be acted on. */
  readonly readOnly: string;
  /** Unix seconds. */
  readonly now: number;
  readonly trans: Translation;
  readonly onClick: (line: Line, event: MouseEvent) => void;
  readonly onToggle: (line: Line) => void;
  readonly onOpen: (line: Line) => void;
}

/** Drawn again only when something that it shows has changed. */
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
  return (
    a.key === b.key &&
    a.entry === b.entry &&
    a.title === b.title &&
    a.depth === b.depth &&
    a.open === b.open &&
    a.place === b.place &&
    a.siblings === b.siblings &&
    a.members.length === b.members.length &&
    a.members.every((member, place) => member === b.members[place])
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

function Toggle({ line, onToggle }: LineProps) {
  return (
    <span
      className="mosaic-runs-toggle"
      data-open={line.open ?? undefined}
      onClick={event => {
        if (line.open !== null) {
          event.stopPropagation();
          onToggle(line);
        }
      }}
      onDoubleClick={event => event.stopPropagation()}
    >
      {line.open !== null && <Icon name="chevron" />}
    </span>
  );
}

function StoreCell(props: LineProps) {
  const { line, trans, readOnly } = props;
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
      <span className="mosaic-runs-dim">{storeSummary(line.members, trans)}</span>
    </div>
  );
}

function indent(depth: number): CSSProperties {
  return { paddingLeft: 2 + 12 * depth };
}

function tooltip({ entry, title, members }: Line): string {
  const about = entry ? [entry.row.name, entry.row.reason, entry.row.notes] : [title, members[0]?.row.group];
  return about.filter(Boolean).join('\n');
}

function LineState({ line, trans }: LineProps) {
  const state = line.entry ? line.entry.row.state : groupState(line.members);
  return (
    <>
      <StateIcon state={state} />
      <span className="mosaic-runs-spoken">{stateText(state, trans)}</span>
    </>
  );
}

function Tags({ tags }: { tags: readonly string[] }) {
  return tags.map(tag => (
    <span key={tag} className="mosaic-runs-tag">
      {tag}
    </span>
  ));
}

function CompactCell(props: LineProps) {
  const { line, trans, now } = props;
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
          <span className="mosaic-runs-number">
            {!entry && last !== null && <span className="mosaic-runs-dim">⌀ </span>}
            {last !== null && number(last)}
          </span>
        </div>
        <div className="mosaic-runs-dim">
          <span className="mosaic-runs-summary">
            {entry ? runSummary(entry.row, now, trans) : groupSummary(members, trans)}
          </span>
          {entry && <Tags tags={entry.row.tags} />}
          {entry && <Sparkline values={entry.row.sparkline} width={56} height={14} />}
        </div>
      </div>
      {progress !== null && <Bar share={progress} />}
    </div>
  );
}

function Bar({ share }: { share: number }) {
  return (
    <span className="mosaic-runs-bar">
      <span style={{ width: `${100 * share}%` }} />
    </span>
  );
}

/** Where a cell is text alone it is one element: wide lines are made of many, and scrolling makes many lines. */
function Cells(props: LineProps) {
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
  const { line, column, trans } = props;
  const { members } = line;
  switch (column.id) {
    case 'name':
      return <NameCell {...props} />;
    case 'state': {
      const state = groupState(members);
      return (
        <span className="mosaic-runs-statecell" title={groupSummary(members, trans)}>
          <StateIcon state={state} />
          {whole(members.filter(({ row }) => row.state === state).length)} {stateText(state, trans)}
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
