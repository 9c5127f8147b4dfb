/** Icons in a 16 × 16 square, in the current colour. */

import type { RunState } from '../../shared/run-api.ts';

/** A shape for each state: not everybody can distinguish the colours. `fill`: closed shapes. */
const STATES: Readonly<Record<RunState, { path: string; fill?: boolean }>> = {
  queued: { path: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3l2 1.6' },
  starting: { path: 'M8 2.5A5.5 5.5 0 0 1 13.5 8M8 13.5a5.5 5.5 0 0 1-5.3-4' },
  running: { path: 'M4.5 2.8 13 8l-8.5 5.2z', fill: true },
  stopping: { path: 'M5 3.5v9M11 3.5v9' },
  completed: { path: 'M3 8.5 6.5 12 13 4.5' },
  failed: { path: 'M4 4l8 8M12 4l-8 8' },
  cancelled: { path: 'M4 4h8v8H4z', fill: true },
  lost: { path: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 12.5v.6' }
};

const ICONS = {
  open: 'M2 13V3M2 13h12M4.5 10 7 7l2 1.5L13 4',
  workspace: 'M2 2.5h12v11H2zM6 2.5v11M6 7.5h8',
  compare: 'M2 3h5v10H2zM9 3h5v10H9z',
  stop: 'M4 4h8v8H4z',
  resume: 'M4.5 3l8 5-8 5z',
  rename: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7 11.3 7',
  tag: 'M2.5 2.5h5L13.5 8.5l-5 5L2.5 7.5zM5 5h.1',
  notes: 'M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2.5',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  log: 'M2.5 4h11M2.5 8h11M2.5 12h6',
  folder: 'M2 4h4l1.5 2H14v7H2z',
  remove: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.7 7v3.7M9.3 7v3.7',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  filter: 'M2 3.5h12L9.5 8.5v4.5l-3-1.5V8.5z',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  chevron: 'M6 4l4 4-4 4',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2'
} as const;

export type IconName = keyof typeof ICONS;

function Svg({ path, fill, className }: { path: string; fill?: boolean | undefined; className?: string }) {
  return (
    <svg
      className={`mosaic-runs-icon ${className ?? ''}`}
      viewBox="0 0 16 16"
      aria-hidden="true"
      data-fill={fill || undefined}
    >
      <path d={path} />
    </svg>
  );
}

export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return <Svg path={ICONS[name]} className={className} />;
}

export function StateIcon({ state }: { state: RunState }) {
  const { path, fill } = STATES[state] ?? STATES.lost;
  return <Svg path={path} fill={fill} className={`mosaic-runs-state mosaic-mod-${state}`} />;
}
