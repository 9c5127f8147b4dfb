/** The problem with a search: comparisons that no run can match. */

import { trans } from '../translation.ts';
import { COMPARISON, FACETS, NUMBERS, numberOf, SHORT_NAMES, searchWords } from './filter.ts';
import { STATES } from './summary.ts';

const MOST_NAMED = 3;

/** The first problem as a sentence, given the names of the runs' hyperparameters; "" for none. */
export function filterProblem(text: string, known: readonly string[]): string {
  for (const word of searchWords(text)) {
    const [, name, sign, wanted] = COMPARISON.exec(word.replace(/^-(?=.)/, '')) ?? [];
    if (name === undefined || sign === undefined || wanted === undefined) {
      continue;
    }
    if (name === 'state' && /^!?[:=]$/.test(sign) && !STATES.some(state => state === wanted)) {
      const similar = STATES.filter(state => state.startsWith(wanted.slice(0, 3)));
      const named = (similar.length ? similar : STATES).join(', ');
      return trans.__('No run has the state %1. Did you mean %2?', wanted, named);
    }
    if (sign === ':') {
      continue; // also a part of ids, such as `my_env:Thermostat-v0`
    }
    const names = [...NUMBERS, ...FACETS, ...known].map(one => one.toLowerCase());
    if (![name, SHORT_NAMES[name]].some(one => one !== undefined && names.includes(one))) {
      const similar = names.filter(one => one.includes(name) || one.startsWith(name.slice(0, 3)));
      return similar.length
        ? trans.__('No run has the setting %1. Similar: %2.', name, similar.slice(0, MOST_NAMED).join(', '))
        : trans.__('No run has the setting %1.', name);
    }
    if (/[<>]/.test(sign) && Number.isNaN(numberOf(wanted))) {
      return trans.__('%1: %2 is not a number.', word, wanted);
    }
  }
  return '';
}
