/** A run's name where there is little room: its end, where seeds are, is never cut off. */

import './run-name.css';

export function RunName({ name }: { readonly name: string }) {
  const [, head, tail] = /^(.+)(\sseed \d+.*)$/.exec(name) ?? [];
  return (
    <span className="mosaic-run-name">
      <span>{head ?? name}</span>
      {tail && <span className="mosaic-run-name-tail">{tail}</span>}
    </span>
  );
}
