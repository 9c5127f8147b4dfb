/** What a lane's card says of its language model's exchanges, as text: no elements here. */

import type { LanguageTraits, ShownExchanges } from '../messages.ts';

const NOTHING: ShownExchanges = { agent: '', agents: [], step: '', calls: [], earlier: 0, messages: [] };

/** What is shown, complete: while the card is folded the kernel sends none of it. */
export function complete(shown: Partial<ShownExchanges>): ShownExchanges {
  return { ...NOTHING, ...shown };
}

/** What models are writing at this moment, of several each with its agent. */
export function writingText(writing: LanguageTraits['writing']): string {
  return writing.map(([agent, text]) => (writing.length > 1 ? `${agent}: ${text}` : text)).join('\n');
}

/** The line above the exchanges. `thinking`: who takes how long for the next answer ("" for nobody). */
export function headText({ step, calls, earlier }: ShownExchanges, thinking: string): string {
  if (!calls.length) {
    if (thinking) return `${thinking}. The exchange will stand here once the answer is complete.`;
    return 'No exchange in the last step.';
  }
  const count = earlier ? `, the last ${calls.length} of ${earlier + calls.length} calls` : '';
  return `step ${step}${count}${thinking ? ` · ${thinking}` : ''}`;
}

/** The accessible name of one call. */
export function callName({ calls, earlier }: ShownExchanges, place: number): string {
  return `call ${earlier + place + 1} of ${earlier + calls.length}`;
}
