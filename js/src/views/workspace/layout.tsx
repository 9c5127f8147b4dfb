/** The layout of a workspace: the width of its table, and the grid of its charts. */

import { type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { trans } from '../translation.ts';
import { useWidth } from '../use-size.ts';

const MIN_TABLE_PX = 160;
const KEY_STEP = 20;
const MIN_COLUMN = 360;

/** A handle to resize the table of runs by dragging or with arrow keys. */
export function Splitter(props: {
  readonly width: number | null;
  readonly set: (width: number) => void;
}): ReactNode {
  const { width, set } = props;
  const start = useRef<{ x: number; width: number } | null>(null);
  const now = (el: Element) => width ?? el.previousElementSibling?.clientWidth ?? MIN_TABLE_PX;
  const move = (event: PointerEvent) => {
    if (start.current) set(Math.max(MIN_TABLE_PX, start.current.width + event.clientX - start.current.x));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that is dragged
    <div
      className="mosaic-splitter"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={trans.__('Width of the table of runs')}
      aria-valuenow={width ?? MIN_TABLE_PX}
      aria-valuemin={MIN_TABLE_PX}
      onKeyDown={event => {
        const by = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
        if (by !== undefined) {
          event.preventDefault();
          set(Math.max(MIN_TABLE_PX, now(event.currentTarget) + by));
        }
      }}
      onPointerDown={event => {
        start.current = { x: event.clientX, width: now(event.currentTarget) };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={move}
      onPointerUp={() => {
        start.current = null;
      }}
      data-lm-suppress-shortcuts="true"
    />
  );
}

interface Item {
  readonly id: string;
  readonly node: (onDrag: (dragged: boolean) => void) => ReactNode;
  readonly drop: (dragged: string) => void;
}

/** Charts in as many columns as fit; a chart dragged over another takes its place. */
export function ChartGrid({ children }: { children: (columns: number) => readonly Item[] }): ReactNode {
  const grid = useRef<HTMLDivElement>(null);
  const width = useWidth(grid);
  const columns = width > 0 ? Math.max(1, Math.min(4, Math.floor(width / MIN_COLUMN))) : 2;
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  return (
    <div
      ref={grid}
      className="mosaic-grid"
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
    >
      {children(columns).map(({ id, node, drop }) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the grip moves charts by keys
        <div
          key={id}
          className={`mosaic-grid-cell ${over === id && dragged !== id ? 'mosaic-grid-over' : ''}`}
          onDragOver={event => {
            if (dragged === null) return;
            event.preventDefault();
            setOver(id);
          }}
          onDragLeave={() => setOver(null)}
          onDrop={event => {
            if (dragged === null) return;
            event.preventDefault();
            if (dragged !== id) drop(dragged);
            setOver(null);
          }}
        >
          {node(moved => setDragged(moved ? id : null))}
        </div>
      ))}
    </div>
  );
}
