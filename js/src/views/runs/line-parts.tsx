/** Parts of a table line, shared by both layouts: columns and two rows of text. */

import type { CSSProperties, MouseEvent } from 'react';
import { trans } from '../translation.ts';
import type { Column } from './columns.ts';
import { Icon, StateIcon } from './icons.tsx';
import { groupState, sparklinePath, stateText } from './run-text.ts';
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
  /** Why the runs of a store's line are read-only; "" if they are not. */
  readonly readOnly: string;
  /** Unix seconds. */
  readonly now: number;
  readonly onClick: (line: Line, event: MouseEvent) => void;
  readonly onToggle: (line: Line) => void;
  readonly onOpen: (line: Line) => void;
}

export function Toggle({ line, onToggle }: LineProps) {
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

export function indent(depth: number): CSSProperties {
  return { paddingLeft: 2 + 12 * depth };
}

export function tooltip({ entry, title, members, continued }: Line): string {
  if (!entry) return [title, members[0]?.row.group].filter(Boolean).join('\n');
  const { name, reason, notes, continues } = entry.row;
  const before = continues && trans.__('continues %1', continues);
  const after = continued && trans.__('continued by %1', continued);
  return [name, reason, before, after, notes].filter(Boolean).join('\n');
}

/** A mark for a run with notes, which the tooltip shows. */
export function NotesMark({ notes }: { notes: string }) {
  return notes === '' ? null : (
    <span className="mosaic-runs-noted">
      <Icon name="notes" />
      <span className="mosaic-unseen">{trans.__('has notes')}</span>
    </span>
  );
}

export function LineState({ line }: LineProps) {
  const state = line.entry ? line.entry.row.state : groupState(line.members);
  return (
    <>
      <StateIcon state={state} />
      <span className="mosaic-unseen">{stateText(state)}</span>
    </>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return tags.map(tag => (
    <span key={tag} className="mosaic-runs-tag">
      {tag}
    </span>
  ));
}

export function Bar({ share }: { share: number }) {
  return (
    <span className="mosaic-runs-bar">
      <span style={{ width: `${100 * share}%` }} />
    </span>
  );
}

export function Sparkline({
  values,
  width,
  height
}: {
  values: readonly number[];
  width: number;
  height: number;
}) {
  if (values.length < 2) return null;
  return (
    <svg className="mosaic-runs-sparkline" width={width} height={height} aria-hidden="true">
      <path d={sparklinePath(values, width, height)} />
    </svg>
  );
}
