/** Filters runs by text, with the problem of a search, and by facets with their counts. */

import { settingText } from '../../shared/numbers.ts';
import type { RunRow } from '../../shared/run-api.ts';
import { trans } from '../translation.ts';
import { STATES } from './run-text.ts';

export const FACETS = ['state', 'kind', 'worker', 'algorithm', 'env', 'tags'] as const;
export type Facet = (typeof FACETS)[number];

export interface Filter {
  /**
   * Words that must all be found; `name=value`, `name<value`, … compare facets, hyperparameters or `NUMBERS`,
   * with `:` as another `=`; `-word` must not be found.
   */
  readonly text: string;
  /** The values of each facet that pass; an empty list passes all. */
  readonly facets: Readonly<Partial<Record<Facet, readonly string[]>>>;
}

export const NO_FILTER: Filter = { text: '', facets: {} };

export function isActive(filter: Filter): boolean {
  return filter.text.trim() !== '' || Object.values(filter.facets).some(values => values.length > 0);
}

/** A run's values of a facet. */
function facetValues(row: RunRow, facet: Facet): readonly string[] {
  const value = row[facet];
  return typeof value === 'string' ? (value === '' ? [] : [value]) : (value ?? []);
}

export function matches(row: RunRow, filter: Filter): boolean {
  return FACETS.every(facet => passes(row, filter, facet)) && matchesText(row, filter.text);
}

/** For each facet its values, with the number of runs that have the value and pass all other facets. */
export function facetCounts(rows: Iterable<RunRow>, filter: Filter): Map<Facet, Map<string, number>> {
  const counts = new Map<Facet, Map<string, number>>(FACETS.map(facet => [facet, new Map()]));
  for (const row of rows) {
    const hasText = matchesText(row, filter.text);
    const failed = FACETS.filter(facet => !passes(row, filter, facet));
    for (const facet of FACETS) {
      const counted = hasText && failed.every(name => name === facet);
      const tally = counts.get(facet) as Map<string, number>;
      for (const value of facetValues(row, facet)) {
        tally.set(value, (tally.get(value) ?? 0) + Number(counted));
      }
    }
  }
  return counts;
}

/** The filter with one value of a facet switched on or off. */
export function toggled(filter: Filter, facet: Facet, value: string): Filter {
  const chosen = filter.facets[facet] ?? [];
  const values = chosen.includes(value) ? chosen.filter(other => other !== value) : [...chosen, value];
  return { ...filter, facets: { ...filter.facets, [facet]: values } };
}

function passes(row: RunRow, filter: Filter, facet: Facet): boolean {
  const chosen = filter.facets[facet];
  return !chosen?.length || facetValues(row, facet).some(value => chosen.includes(value));
}

/** The words of a search in lower case; a comparison is one word, also if it is written with blanks. */
function searchWords(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/\s*(<=|>=|!=|=|<|>)\s*/g, '$1')
    .split(/\s+/)
    .filter(Boolean);
}

/** Of one word: name, operator and value of a comparison. */
const COMPARISON = /^([^=<>!:]+)(<=|>=|!=|=|<|>|:)(.+)$/;
const OPERATORS: Readonly<Record<string, (a: string | number, b: string | number) => boolean>> = {
  '=': (a, b) => a === b,
  ':': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b
};
const SHORT_NAMES: Readonly<Record<string, string>> = { lr: 'learning_rate', steps: 'step' };
/** The numbers of a row that can be compared, by their names in `lab.runs.table()`. */
const NUMBERS = [
  'seed',
  'last_return',
  'best_return',
  'step',
  'total_steps',
  'episodes',
  'progress',
  'speed',
  'duration'
] as const;

function matchesText(row: RunRow, text: string): boolean {
  const words = searchWords(text);
  if (!words.length) return true;
  const { name, label, id, notes, worker, algorithm, env, group, state, tags } = row;
  const all = [name, label, id, notes, worker, algorithm, env, group, state, ...tags]
    .join('\n')
    .toLowerCase();
  // A number is a word of its own: "2" would be found in the id of every run.
  const isIn = (word: string) =>
    /^\d+$/.test(word) ? RegExp(`\\b${word}\\b`).test(all) : all.includes(word);
  const has = (word: string) => isIn(word) || matchesComparison(row, word);
  return words.every(word => (word.length > 1 && word.startsWith('-') ? !has(word.slice(1)) : has(word)));
}

function matchesComparison(row: RunRow, word: string): boolean {
  const [, name, sign, operand] = COMPARISON.exec(word) ?? [];
  if (name === undefined || operand === undefined) return false;
  const facet = FACETS.find(candidate => candidate === name);
  if (facet && /^(=|!=|:)$/.test(sign ?? '')) {
    const equal = facetValues(row, facet).some(value => value.toLowerCase() === operand);
    return equal !== (sign === '!=');
  }
  const names = [name, SHORT_NAMES[name]];
  const field = NUMBERS.find(candidate => names.includes(candidate));
  const hyperparameter = Object.entries(row.hyperparameters).find(([key]) =>
    names.includes(key.toLowerCase())
  );
  const value = field === undefined ? hyperparameter?.[1] : row[field];
  if (value === undefined || value === null) return false;
  const numbers = [Number(value), numberOf(operand)] as const;
  const isText = numbers.some(Number.isNaN);
  if (isText && /[<>]/.test(sign ?? '')) return false;
  const [a, b] = isText ? [settingText(value).toLowerCase(), operand] : numbers;
  return OPERATORS[sign ?? '']?.(a, b) ?? false;
}

/** A number in Python's notation, such as "10_000"; NaN if it is invalid. */
function numberOf(text: string): number {
  return Number(text.replaceAll('_', ''));
}

const MAX_NAMED = 3;

/** The first problem as a sentence, given the names of the runs' hyperparameters; "" for none. */
export function filterProblem(text: string, hyperparameters: readonly string[]): string {
  for (const word of searchWords(text)) {
    const [, name, sign, operand] = COMPARISON.exec(word.replace(/^-(?=.)/, '')) ?? [];
    if (name === undefined || sign === undefined || operand === undefined) continue;
    if (name === 'state' && /^!?[:=]$/.test(sign) && !STATES.some(state => state === operand)) {
      const similar = STATES.filter(state => state.startsWith(operand.slice(0, 3)));
      const named = (similar.length ? similar : STATES).join(', ');
      return trans.__('No run has the state %1. Did you mean %2?', operand, named);
    }
    if (sign === ':') {
      continue; // also a part of ids, such as `my_env:Thermostat-v0`
    }
    const names = [...NUMBERS, ...FACETS, ...hyperparameters].map(field => field.toLowerCase());
    if (![name, SHORT_NAMES[name]].some(field => field !== undefined && names.includes(field))) {
      const similar = names.filter(field => field.includes(name) || field.startsWith(name.slice(0, 3)));
      return similar.length
        ? trans.__('No run has the setting %1. Similar: %2.', name, similar.slice(0, MAX_NAMED).join(', '))
        : trans.__('No run has the setting %1.', name);
    }
    if (/[<>]/.test(sign) && Number.isNaN(numberOf(operand))) {
      return trans.__('%1: %2 is not a number.', word, operand);
    }
  }
  return '';
}
