/** The texts of a lane's card about the exchanges of its language model. */

import type { LanguageTraits, ShownExchanges } from '../messages.ts';

const NOTHING: ShownExchanges = { agent: '', agents: [], step: '', calls: [], earlier: 0, messages: [] };

/** Fill in missing fields: while the card is collapsed, the kernel sends no exchanges. */
export function complete(shown: Partial<ShownExchanges>): ShownExchanges {
  return { ...NOTHING, ...shown };
}

/** The text being written by models; with several, each has its agent's name. */
export function writingText(writing: LanguageTraits['writing']): string {
  return writing.map(([agent, text]) => (writing.length > 1 ? `${agent}: ${text}` : text)).join('\n');
}

/** The line above the exchanges. `waiting`: a model has been called and its answer is incomplete. */
export function headText({ step, calls, earlier }: ShownExchanges, waiting: boolean): string {
  if (calls.length)
    return `step ${step}${earlier ? `, the last ${calls.length} of ${earlier + calls.length} calls` : ''}`;
  if (waiting) return 'The exchange will appear here once the answer is complete.';
  return 'No exchange in the last step.';
}

/** The accessible name of one call. */
export function callName({ calls, earlier }: ShownExchanges, place: number): string {
  return `call ${earlier + place + 1} of ${earlier + calls.length}`;
}
