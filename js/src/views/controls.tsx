/** The small controls of all views: selections, check boxes, buttons of tool bars. */

import type { ComponentProps, ReactNode } from 'react';

interface SelectProps extends ComponentProps<'select'> {
  readonly options: Iterable<readonly [value: string, text: string]>;
  readonly choose: (value: string) => void;
}

export function Select({ options, choose, className = 'mosaic-input', ...rest }: SelectProps): ReactNode {
  return (
    <select className={className} onChange={event => choose(event.currentTarget.value)} {...rest}>
      {Array.from(options, ([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A control with its name before it. */
export function Field({ name, children, ...rest }: ComponentProps<'label'> & { name: string }): ReactNode {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is its child
    <label className="mosaic-field" {...rest}>
      <span>{name}</span>
      {children}
    </label>
  );
}

interface CheckProps extends ComponentProps<'label'> {
  readonly checked: boolean;
  readonly change: (checked: boolean) => void;
}

/** A check box with its children beside it. */
export function Check({ checked, change, children, ...rest }: CheckProps): ReactNode {
  return (
    <label {...rest}>
      <input type="checkbox" checked={checked} onChange={event => change(event.currentTarget.checked)} />
      {children}
    </label>
  );
}

export function Tool(props: ComponentProps<'button'>): ReactNode {
  return <button type="button" className="mosaic-tool" {...props} />;
}
