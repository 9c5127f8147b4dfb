/** The values of a form: only those that differ from the defaults appear in its code. */

import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../../views/translation.ts';

const MAX_SIMILAR = 4;
const MAX_TRAININGS = 100;
/** Length at which `mosaic_lab/overview/forms.py` truncates a list of suggestions. */
const MAX_LISTED = 2000;

export type Values = Readonly<Record<string, unknown>>;

/** The values of a form, kept over reloads of the page. */
export interface Filled {
  readonly worker: string | null;
  readonly algorithm: string | null;
  readonly values: Values;
  readonly hyperparameters: Values;
}

interface FormSchema {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  /** Fields that depend on the value of another one. */
  readonly allOf?: readonly {
    readonly if: { readonly properties: Readonly<Record<string, { readonly const: unknown }>> };
    readonly then: FormSchema;
  }[];
}

interface FieldSchema {
  readonly default?: unknown;
  readonly title?: string;
  /** Suggested values. */
  readonly examples?: readonly unknown[];
  /** The schema of each value of a list. */
  readonly items?: FormSchema;
  /** An explanation shown if the value does not match the field's `pattern`. */
  readonly patternMessage?: string;
}

/** Entries of `values` that differ from the schema's defaults. */
export function changed(schema: FormSchema, values: Values): Record<string, unknown> {
  const properties = schema.properties ?? {};
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) =>
        name in properties &&
        value !== undefined &&
        JSON.stringify(value) !== JSON.stringify(properties[name]?.default)
    )
  );
}

/** The titles of required fields without a value, each once, also of the items of lists. */
export function missing(schema: FormSchema, values: Values): string[] {
  const missingHere = (schema.required ?? [])
    .filter(name => values[name] === undefined || values[name] === '')
    .map(name => schema.properties?.[name]?.title ?? name);
  const depending = (schema.allOf ?? [])
    .filter(({ if: { properties } }) =>
      Object.entries(properties).every(([name, { const: value }]) => values[name] === value)
    )
    .flatMap(({ then }) => missing(then, values));
  const listed = Object.entries(schema.properties ?? {}).flatMap(([name, { items }]) =>
    items && Array.isArray(values[name]) ? values[name].flatMap(item => missing(items, table(item))) : []
  );
  return [...new Set([...missingHere, ...depending, ...listed])];
}

/** The schema of operators with the latest of these trainings as suggestions for a trained policy, and the
 * servers that are alive for a language model. */
export function withRuns(schema: FormSchema, rows: readonly RunRow[]): FormSchema {
  const trainings = rows.filter(({ kind, step }) => kind === 'training' && step).slice(0, MAX_TRAININGS);
  const servers = rows.filter(({ kind, alive }) => kind === 'server' && alive);
  return withSuggestions(withSuggestions(schema, 'run', idsOf(trainings)), 'model', idsOf(servers));
}

/** The schema of operators with more suggestions for one of their fields. */
export function withSuggestions(schema: FormSchema, field: string, values: readonly string[]): FormSchema {
  const copy = structuredClone(schema);
  for (const { then } of copy.properties?.operators?.items?.allOf ?? []) {
    const property = then.properties?.[field];
    if (property && values.length > 0)
      Object.assign(property, { examples: [...(property.examples ?? []), ...values] });
  }
  return copy;
}

/** The providers of the operators, each once. */
export function providersOf({ operators }: Values): string[] {
  const chosen = Array.isArray(operators) ? operators.map(operator => table(operator).provider) : [];
  return [...new Set(chosen.filter(name => typeof name === 'string'))];
}

function idsOf(rows: readonly RunRow[]): string[] {
  return rows.map(({ id }) => id);
}

/** Values in which operators are named after their kinds, unless the user has named them. */
export function withOperatorNames(before: Values, after: Values): Values {
  const [former, operators] = [before, after].map(({ operators }) =>
    Array.isArray(operators) ? operators.map(table) : []
  ) as [Values[], Values[]];
  const names = operators.map(({ name }) => name);
  operators.forEach(({ name, kind }, index) => {
    const old = former[index];
    const isNew = old === undefined && name === undefined;
    const hasNewKind = old !== undefined && name === old.name && kind !== old.kind;
    if (isNew || (hasNewKind && (name === undefined || RegExp(`^${old.kind}( \\d+)?$`).test(String(name))))) {
      names[index] = freeOperatorName(String(kind), names.toSpliced(index, 1));
    }
  });
  const changed = names.some((name, index) => name !== operators[index]?.name);
  const named = operators.map((operator, index) => ({ ...operator, name: names[index] }));
  return changed ? { ...after, operators: named } : after;
}

/** "rl" or, if it is taken, "rl 2": names distinguish the operators. */
function freeOperatorName(kind: string, usedNames: readonly unknown[]): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? kind : `${kind} ${number}`;
    if (!usedNames.includes(name)) return name;
  }
}

/** An error of the form's validator; its message continues the value's name. */
interface FieldError {
  readonly name?: string;
  /** The path of the value: ".seeds". */
  readonly property?: string;
  readonly message?: string;
  readonly params?: { readonly limit?: unknown };
}

/**
 * The errors with our own messages about limits and patterns, such as "is more than 1", without errors about
 * required fields, which `missing` reports, and those of the conditions that require them.
 */
export function explained<E extends FieldError>(errors: readonly E[], schema: FormSchema): E[] {
  function message({ name, property = '', message, params }: E): string | undefined {
    if (name === 'minimum') return trans.__('is less than %1', params?.limit);
    if (name === 'exclusiveMinimum') return trans.__('is not above %1', params?.limit);
    if (name === 'maximum') return trans.__('is more than %1', params?.limit);
    if (name === 'pattern') return schema.properties?.[property.slice(1)]?.patternMessage ?? message;
    return message;
  }
  return errors
    .filter(({ name }) => name !== 'required' && name !== 'if')
    .map(error => ({ ...error, message: message(error) }));
}

/** Entries of `values` that another schema also has: these are kept if the algorithm changes. */
export function carriedOver(before: FormSchema, after: FormSchema, values: Values): Record<string, unknown> {
  const remaining = changed(before, values);
  return Object.fromEntries(Object.entries(remaining).filter(([name]) => name in (after.properties ?? {})));
}

/** The schema with only the fields whose name, title or description contains the text. */
export function matching<S extends FormSchema>(schema: S, text: string): S {
  const query = text.trim().toLowerCase();
  if (query === '') return schema;
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(([name, field]) =>
      `${name} ${JSON.stringify(field)}`.toLowerCase().includes(query)
    )
  );
  return { ...schema, properties };
}

/** Entries of `values` for which a form has fields. */
export function knownValues(schema: FormSchema, values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in (schema.properties ?? {})));
}

/** The stored values, as far as they are valid for a form. */
export function filledOf(savedState: unknown): Filled {
  const { worker, algorithm, values, hyperparameters } = table(savedState);
  return {
    worker: typeof worker === 'string' ? worker : null,
    algorithm: typeof algorithm === 'string' ? algorithm : null,
    values: table(values),
    hyperparameters: table(hyperparameters)
  };
}

/** The entered environment with similar ones if it is not among the suggestions; otherwise null. */
export function unlisted(
  { properties = {} }: FormSchema,
  { env }: Values
): { readonly value: string; readonly similar: readonly string[] } | null {
  const examples = (properties.env?.examples ?? []).map(String);
  const value = typeof env === 'string' ? env.trim() : '';
  const isWhole = examples.length > 0 && examples.length < MAX_LISTED;
  if (value === '' || !isWhole || examples.includes(value)) return null;
  const stem = (id: string) =>
    id
      .toLowerCase()
      .replace(/-v\d+$/, '')
      .replace(/[^a-z0-9]/g, '');
  const typed = stem(value);
  const similar = examples.filter(id => typed.length > 2 && stem(id).startsWith(typed.slice(0, 6)));
  return { value, similar: similar.slice(0, MAX_SIMILAR) };
}

function table(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
