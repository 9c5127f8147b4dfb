/** The texts of a lane's card, and the place of a speed on its slider. */

import type { Fact, Lane, LanguageTraits, Move, ShownExchanges } from '../messages.ts';

/** Maximum length of a reasoning that is shown expanded, for operators without a language model. */
const SHORT_TEXT = 90;

const TONES: Record<Lane['state'], string> = {
  opening: 'starting',
  ready: '',
  stepping: 'running',
  finished: '',
  stopped: '',
  failed: 'failed'
};

/** Whether the lane may still be stepped in this episode or a later one. */
export function isLive({ state }: Pick<Lane, 'state'>): boolean {
  return state !== 'failed' && state !== 'stopped';
}

/** The chip of a lane and the state whose colour it has; the text is empty during normal progress. */
export function laneChip({ state, done, flags }: Pick<Lane, 'state' | 'done' | 'flags'>): {
  text: string;
  tone: string;
} {
  const tone = TONES[state];
  if (done || (state === 'stopped' && flags.length > 0)) {
    return { text: `ended: ${flags.join(', ') || 'finished'}`, tone };
  }
  return { text: state === 'ready' || state === 'stepping' ? '' : state, tone };
}

/** The numbers of the last step and, if agents take turns, whose turn it is. */
export function laneFacts({ facts, turn, aec }: Pick<Lane, 'facts' | 'turn' | 'aec'>): Fact[] {
  return aec && turn.length ? [...facts, [turn.join(', '), 'turn', 'who acts next']] : facts;
}

/** The faults of the last step, one per line, and why there is no picture. */
export function laneFaults({ moves, several, blank }: Pick<Lane, 'moves' | 'several' | 'blank'>): string {
  const lines = moves
    .filter(move => move.fault)
    .map(move => `${several ? `${move.agent}: ` : ''}${move.fault_text || move.fault}`);
  return [...lines, blank].filter(Boolean).join('\n');
}

/** "1,234 → 56 tokens" for a language model; empty if it has read and written none. */
export function tokensText({ tokens: [read, written] }: Pick<Move, 'tokens'>): string {
  return read === '0' && written === '0' ? '' : `${read} → ${written} tokens`;
}

/** The chip beside a move: the operator's fault or, if there is none, the fault of its model's answer. */
export function moveFault({ fault, fault_text, model_faults }: Move): { text: string; hint: string } {
  if (fault) return { text: fault, hint: fault_text };
  return {
    text: model_faults[0]?.[0] ?? '',
    hint: model_faults.map(([text, hint]) => `${text}: ${hint}`).join('\n')
  };
}

/** The reasons for the last step: expanded (`open`), or collapsed because they are long. */
export function reasoningText(
  lane: Pick<Lane, 'moves' | 'several' | 'speaks' | 'state'>,
  closed: boolean
): { open: string; folded: string } {
  const { moves, several, speaks } = lane;
  const text = moves
    .filter(move => move.reasoning)
    .map(move => (several ? `${move.agent}: ${move.reasoning}` : move.reasoning))
    .join('\n');
  if (!speaks && text.length > SHORT_TEXT) return { open: '', folded: text };
  const expected = speaks && !closed && isLive(lane) ? 'Its reasoning will appear here.' : '';
  return { open: text || expected, folded: '' };
}

/** The index of the speed closest to `wanted`; 0 means no limit. */
export function nearestSpeed(speeds: readonly number[], requested: number): number {
  if (!requested) return speeds.indexOf(0);
  const distances = speeds.map(speed => (speed ? Math.abs(speed - requested) : Number.POSITIVE_INFINITY));
  return distances.indexOf(Math.min(...distances));
}

const NOTHING: ShownExchanges = { agent: '', agents: [], step: '', calls: [], earlier: 0, messages: [] };

/** Fill in missing fields: while the card is collapsed, the kernel sends no exchanges. */
export function complete(partial: Partial<ShownExchanges>): ShownExchanges {
  return { ...NOTHING, ...partial };
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
export function callName({ calls, earlier }: ShownExchanges, index: number): string {
  return `call ${earlier + index + 1} of ${earlier + calls.length}`;
}
