/** What is filled in in a form: only what differs from the defaults goes into its code. */

import type { Translation } from '../../views/translation.ts';

const MOST_SIMILAR = 4;
/** A list of suggestions that is so long was cut off: `mosaic_lab/overview/forms.py`. */
const MOST_LISTED = 2000;

export type Values = Readonly<Record<string, unknown>>;

/** What a form is filled in with, kept from one visit of the page to the next. */
export interface Filled {
  readonly worker: string | null;
  readonly algorithm: string | null;
  readonly values: Values;
  readonly hyperparameters: Values;
}

export interface FormSchema {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

interface FieldSchema {
  readonly default?: unknown;
  readonly title?: string;
  /** Values to suggest. */
  readonly examples?: readonly unknown[];
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

/** Those of `values` that a form has fields for. */
export function known(schema: FormSchema, values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in (schema.properties ?? {})));
}

/** What was kept, as far as it is what a form is filled in with. */
export function filledOf(kept: unknown): Filled {
  const { worker, algorithm, values, hyperparameters } = table(kept);
  return {
    worker: typeof worker === 'string' ? worker : null,
    algorithm: typeof algorithm === 'string' ? algorithm : null,
    values: table(values),
    hyperparameters: table(hyperparameters)
  };
}

/** The environment that is filled in, where it is none of those that are suggested, with similar ones; else null. */
export function unlisted(
  { properties = {} }: FormSchema,
  { env }: Values
): { readonly value: string; readonly similar: readonly string[] } | null {
  const examples = (properties.env?.examples ?? []).map(String);
  const value = typeof env === 'string' ? env.trim() : '';
  const isWhole = examples.length > 0 && examples.length < MOST_LISTED;
  if (value === '' || !isWhole || examples.includes(value)) {
    return null;
  }
  const stem = (id: string) =>
    id
      .toLowerCase()
      .replace(/-v\d+$/, '')
      .replace(/[^a-z0-9]/g, '');
  const typed = stem(value);
  const similar = examples.filter(id => typed.length > 2 && stem(id).startsWith(typed.slice(0, 6)));
  return { value, similar: similar.slice(0, MOST_SIMILAR) };
}

function table(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
