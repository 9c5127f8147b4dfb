/** A line of the table: in columns or, in limited space, in two rows of text. */

import { type CSSProperties, memo } from 'react';

import { number } from '../../shared/numbers.ts';
import { trans } from '../translation.ts';
import { Icon } from './icons.tsx';
import { Bar, indent, type LineProps, LineState, NotesMark, Tags, Toggle, tooltip } from './line-parts.tsx';
import { Cells } from './run-cells.tsx';
import { RunName } from './run-name.tsx';
import { Sparkline } from './sparkline.tsx';
import { groupSummary, meanOf, runSummary, storeSummary } from './summary.ts';
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
  return (
    a.key === b.key &&
    a.entry === b.entry &&
    a.title === b.title &&
    a.continued === b.continued &&
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
      <span className="mosaic-runs-dim">{storeSummary(line.members)}</span>
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
            {!entry && last !== null && <span className="mosaic-runs-dim">⌀ </span>}
            {last !== null && number(last)}
          </span>
        </div>
        <div className="mosaic-runs-dim">
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
