/** What is filled in in a form: only what differs from the defaults goes into its code. */

import type { Translation } from '../../views/translation.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface FormSchema {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

interface FieldSchema {
  readonly default?: unknown;
  readonly title?: string;
  /** What to fill in, shown where the value does not match the field's `pattern`. */
  readonly patternMessage?: string;
}

/** Those of `values` that are not the schema's defaults. */
export function changed(schema: FormSchema, values: Values): Record<string, unknown> {
  const known = schema.properties ?? {};
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) =>
        name in known && value !== undefined && JSON.stringify(value) !== JSON.stringify(known[name]?.default)
    )
  );
}

/** The titles of the fields that must be filled in and are not. */
export function missing(schema: FormSchema, values: Values): string[] {
  return (schema.required ?? [])
    .filter(name => values[name] === undefined || values[name] === '')
    .map(name => schema.properties?.[name]?.title ?? name);
}

/** An error of the form's validator, whose message continues the value that it is about. */
export interface FieldError {
  readonly name?: string;
  /** The path of the value: ".seeds". */
  readonly property?: string;
  readonly message?: string;
  readonly params?: { readonly limit?: unknown };
}

/** The errors with messages of our own about limits and patterns, such as "is more than 1", and without those of fields
 * that must be filled in, which `missing` names.
 */
export function explained<E extends FieldError>(
  errors: readonly E[],
  schema: FormSchema,
  trans: Translation
): E[] {
  function message({ name, property = '', message, params }: E): string | undefined {
    if (name === 'minimum') return trans.__('is less than %1', params?.limit);
    if (name === 'exclusiveMinimum') return trans.__('is not above %1', params?.limit);
    if (name === 'maximum') return trans.__('is more than %1', params?.limit);
    if (name === 'pattern') return schema.properties?.[property.slice(1)]?.patternMessage ?? message;
    return message;
  }
  return errors
    .filter(error => error.name !== 'required')
    .map(error => ({ ...error, message: message(error) }));
}

/** Those of `values` that another schema has too: what stays filled in when the algorithm changes. */
export function carriedOver(before: FormSchema, after: FormSchema, values: Values): Record<string, unknown> {
  const kept = changed(before, values);
  return Object.fromEntries(Object.entries(kept).filter(([name]) => name in (after.properties ?? {})));
}

/** The schema with only the fields whose name, title or description contains the text. */
export function matching<S extends FormSchema>(schema: S, text: string): S {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') {
    return schema;
  }
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name, field]) =>
      `${name} ${JSON.stringify(field)}`.toLowerCase().includes(wanted)
    )
  );
  return { ...schema, properties };
}
