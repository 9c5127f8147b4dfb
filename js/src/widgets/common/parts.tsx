/** Parts of React components in widgets: buttons, groups of them, sliders, collapsible texts. */

import { type ComponentProps, type SyntheticEvent, useLayoutEffect, useRef } from 'react';
import { type Model, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import { type Choice, ICONS } from './elements.ts';

declare module 'react' {
  interface HTMLAttributes<T> {
    /** Missing in the types of React 18. */
    inert?: boolean | undefined;
  }
}

/** Keeps keys from JupyterLab; see `suppressShortcuts`. */
export const OWN_KEYS = { 'data-lm-suppress-shortcuts': 'true' } as const;

export function Button({ className = 'mosaic-button', ...rest }: ComponentProps<'button'>) {
  return <button type="button" className={className} {...rest} />;
}

export function Icon({ name }: { name: keyof typeof ICONS }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

export function Swatch({ color }: { color: string }) {
  return <i className="mosaic-swatch" style={{ '--mosaic-color': color } as object} />;
}

interface SegmentsProps<Value> {
  readonly label: string;
  readonly choices: readonly Choice<Value>[];
  readonly pressed: Value;
  readonly choose: (value: Value) => void;
}

/** Buttons of which one is pressed. */
export function Segments<Value>({ label, choices, pressed, choose }: SegmentsProps<Value>) {
  return (
    <span className="mosaic-segments" role="group" aria-label={label}>
      {choices.map(({ value, text, hint }) => (
        <Button
          key={text}
          className=""
          title={hint}
          aria-pressed={value === pressed}
          onClick={() => choose(value)}
        >
          {text}
        </Button>
      ))}
    </span>
  );
}

interface SliderProps extends Omit<ComponentProps<'input'>, 'value'> {
  readonly label: string;
  readonly hint: string;
  readonly value: number;
  /** The text of the value. */
  readonly text: string;
  readonly slide: (value: number) => void;
}

export function Slider({ label, hint, text, slide, ...rest }: SliderProps) {
  return (
    <label className="mosaic-smoothing" title={hint}>
      {label}
      <input
        type="range"
        onChange={event => slide(Number(event.currentTarget.value))}
        {...OWN_KEYS}
        {...rest}
      />
      <output>{text}</output>
    </label>
  );
}

/** A text that is hidden while it is empty. */
export function Notice({ className, ...rest }: ComponentProps<'div'>) {
  return <div className={`mosaic-notice ${className}`} hidden={!rest.children} {...rest} />;
}

interface CollapsibleProps extends ComponentProps<'details'> {
  readonly title: string;
  /** Shown beside the title while collapsed. */
  readonly note?: string;
}

/** A line that expands its children below it. */
export function Collapsible({ title, note, className = '', children, ...rest }: CollapsibleProps) {
  return (
    <details className={`mosaic-log ${className}`} {...rest}>
      <summary {...OWN_KEYS}>
        <span className="mosaic-log-name">{title}</span>
        {note !== undefined && <code>{note}</code>}
      </summary>
      {children}
    </details>
  );
}

interface CollapsibleTextProps {
  readonly title: string;
  readonly text: string;
  readonly className?: string;
}

/** A collapsible text, which shows its last line while collapsed. Hidden without text. */
export function CollapsibleText({ title, text, className }: CollapsibleTextProps) {
  const last = text.slice(text.lastIndexOf('\n') + 1);
  return (
    <Collapsible title={title} note={last} className={className} hidden={text === ''}>
      <pre>{text}</pre>
    </Collapsible>
  );
}

/** The attributes of a `<details>` that is synchronised with the trait `opened`. */
export function useOpened<Traits extends { opened: boolean }>(model: Model<Traits>) {
  const open: boolean = useTrait(model, 'opened');
  const onToggle = ({ currentTarget }: SyntheticEvent<HTMLDetailsElement>) => {
    if (currentTarget.open !== model.get('opened')) send(model, 'opened', currentTarget.open);
  };
  return { open, onToggle };
}

/** A growing text: while its end is visible, it stays visible. */
export function Tail({ text, ...rest }: { text: string } & ComponentProps<'pre'>) {
  const node = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (node.current && atEnd.current) node.current.scrollTop = node.current.scrollHeight;
  }, [text]);
  const follow = ({
    currentTarget: { scrollTop, clientHeight, scrollHeight }
  }: SyntheticEvent<HTMLPreElement>) => {
    atEnd.current = scrollTop + clientHeight >= scrollHeight - 4;
  };
  return (
    <pre ref={node} onScroll={follow} {...rest}>
      {text}
    </pre>
  );
}

/** A place for an element that is not React's. */
export function Slot({ node }: { readonly node: HTMLElement }) {
  const ref = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => ref.current?.replaceChildren(node), [node]);
  return <span className="mosaic-slot" ref={ref} />;
}
