/** The last action of each agent of a lane, with its numbers below. */

import { drawEach, element, setText, setTextOrHide } from '../common/elements.ts';
import type { Fact, Lane } from '../messages.ts';
import { moveFault, tokensText } from './card-text.ts';

const MANY = 4; // agents; with more, their actions scroll

function newMove() {
  const el = element('div', 'mosaic-move');
  const part = (name: string, hint = '') => {
    const node = element('span', `mosaic-${name}`, el);
    node.title = hint;
    return node;
  };
  return {
    el,
    agent: part('agent'),
    action: part('action'),
    reward: part('reward', 'reward'),
    tokens: part('tokens'),
    latency: part('latency', 'latency: how long the answer took'),
    fault: part('chip mosaic-warning')
  };
}

export function drawMoves(parent: Element, { moves, more, several, speaks }: Lane): void {
  drawEach(
    parent,
    moves,
    ({ agent }) => agent,
    newMove,
    (item, move) => {
      const [read, written] = move.tokens;
      const fault = moveFault(move);
      setText(item.agent, several ? move.agent : 'action');
      setText(item.action, move.text);
      item.action.title = move.text;
      setText(item.reward, several ? move.reward : '');
      setText(item.tokens, speaks ? tokensText(move) : '');
      item.tokens.title = `tokens: ${read} read, ${written} written`;
      setText(item.latency, move.latency);
      setTextOrHide(item.fault, fault.text);
      item.fault.title = fault.hint;
    }
  );
  parent.classList.toggle('mosaic-many', moves.length > MANY);
  parent.setAttribute('title', more ? `and ${more} more agents` : '');
}

function newFact([, name]: Fact) {
  const el = element('span', 'mosaic-fact');
  el.dataset.name = name;
  element('span', '', el, `${name} `);
  return { el, value: element('b', '', el) };
}

export function drawFacts(parent: Element, facts: Fact[]): void {
  drawEach(
    parent,
    facts,
    ([, name]) => name,
    newFact,
    (item, [value, , hint]) => {
      setText(item.value, value);
      item.el.title = hint;
    }
  );
}
