/** A menu below a button, closed by Escape, by a change of focus and by a click elsewhere. */

import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** Margin between a popup and the edges of the workspace, and its minimum height. */
const MARGIN_PX = 6;
const MIN_PX = 80;

interface MenuProps {
  readonly label: ReactNode;
  /** Its name, if `label` is an icon. */
  readonly name?: string | undefined;
  readonly className?: string;
  readonly buttonClass?: string;
  readonly popupClass?: string;
  readonly children: (close: () => void) => ReactNode;
}

export function Menu(props: MenuProps): ReactNode {
  const {
    label,
    name,
    className = 'mosaic-menu-root',
    buttonClass = 'mosaic-tool',
    popupClass = 'mosaic-popup'
  } = props;
  const title = name ?? (typeof label === 'string' ? label : undefined);
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    const isInside = (target: EventTarget | null) => root.current?.contains(target as Node) ?? false;
    const pointed = ({ target }: Event) => void (isInside(target) || setOpen(false));
    // A click on a label in the popup focuses the notebook's cell that the menu is in.
    const focused = ({ target }: Event) =>
      void (isInside(target) || (target as Node).contains(root.current) || setOpen(false));
    const pressed = ({ key }: KeyboardEvent) => void (key === 'Escape' && setOpen(false));
    const ended = new AbortController();
    const { signal } = ended;
    document.addEventListener('pointerdown', pointed, { signal });
    document.addEventListener('focusin', focused, { signal });
    document.addEventListener('keydown', pressed, { signal });
    return () => ended.abort();
  }, [open]);
  useLayoutEffect(() => {
    const bounds = root.current?.closest('.mosaic-workspace')?.getBoundingClientRect();
    if (popup.current && bounds) keepInside(popup.current, bounds);
  }, [open]);
  return (
    <span
      ref={root}
      className={className}
      onKeyDown={event => {
        if (event.key === 'Escape' && open) {
          event.stopPropagation();
          close();
        }
      }}
    >
      <button
        ref={button}
        type="button"
        className={buttonClass}
        aria-expanded={open}
        aria-label={name}
        title={title}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div ref={popup} role="group" aria-label={title} className={popupClass}>
          {props.children(close)}
        </div>
      )}
    </span>
  );
}

/** Move a popup sideways, and make it scroll, if it would exceed its container. */
function keepInside(popup: HTMLElement, bounds: DOMRect): void {
  const { left, right, top, bottom } = popup.getBoundingClientRect();
  const beyond = Math.max(0, right + MARGIN_PX - bounds.right);
  popup.style.translate = `${Math.max(-beyond, bounds.left + MARGIN_PX - left)}px`;
  if (bottom + MARGIN_PX > bounds.bottom) {
    popup.style.maxHeight = `${Math.max(MIN_PX, bounds.bottom - top - MARGIN_PX)}px`;
    popup.style.overflow = 'auto';
  }
}

/** Names to choose from, filtered by typing. */
export function Choices(props: {
  readonly names: readonly string[];
  readonly label: string;
  readonly empty: string;
  readonly choose: (name: string) => void;
}): ReactNode {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const words = text.toLowerCase().split(/\s+/);
  const matches = props.names.filter(name => words.every(word => name.toLowerCase().includes(word)));
  return (
    <>
      <input
        ref={input}
        type="search"
        className="mosaic-input"
        placeholder={props.label}
        aria-label={props.label}
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => event.key === 'Enter' && matches[0] !== undefined && props.choose(matches[0])}
      />
      <ul className="mosaic-choices">
        {matches.map(name => (
          <li key={name}>
            <button type="button" onClick={() => props.choose(name)}>
              {name}
            </button>
          </li>
        ))}
        {matches.length === 0 && <li className="mosaic-dim">{props.empty}</li>}
      </ul>
    </>
  );
}
