/** Charts in as many columns as fit; a chart dragged over another takes its place. */

import { type ReactNode, useEffect, useRef, useState } from 'react';

const LEAST_COLUMN = 360;

interface Item {
  readonly id: string;
  readonly node: (onDrag: (dragged: boolean) => void) => ReactNode;
  readonly drop: (dragged: string) => void;
}

export function ChartGrid({ children }: { children: (columns: number) => readonly Item[] }): ReactNode {
  const grid = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(2);
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  useEffect(() => {
    const el = grid.current;
    if (!el) return;
    const sizes = new ResizeObserver(() =>
      setColumns(Math.max(1, Math.min(4, Math.floor(el.clientWidth / LEAST_COLUMN))))
    );
    sizes.observe(el);
    return () => sizes.disconnect();
  }, []);
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
