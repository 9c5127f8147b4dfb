/**
 * One request to a language model and its answer: the prompt by turns, the reasoning, the answer with the
 * parsed action, and the cost. Texts from models and endpoints are inserted into the page as text only.
 */

import { drawEach, element, place, plain, setText } from '../common/elements.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { Exchange, Hinted, PromptTurn } from '../messages.ts';

const IMAGE = /^data:image\/png;base64,[A-Za-z0-9+/=]+$/;

/** A scrollable part reachable by keyboard, whose arrow keys do not reach the notebook. */
export function scrollable<Node extends HTMLElement>(node: Node, label: string): Node {
  node.tabIndex = 0;
  node.setAttribute('role', 'region');
  node.setAttribute('aria-label', label);
  suppressShortcuts(node);
  return node;
}

interface Turn {
  el: HTMLElement;
  role: HTMLElement;
  text: HTMLElement;
  images: HTMLElement;
}

export class ExchangeCall {
  readonly el = element('section', 'mosaic-call');
  private readonly facts: HTMLElement;
  private readonly prompt: HTMLElement;
  private readonly note: HTMLElement;
  private readonly turns: HTMLElement;
  private readonly reasoning: HTMLElement;
  private readonly reasoningPart: HTMLElement;
  private readonly answer: [HTMLElement, HTMLElement, HTMLElement];
  private drawn = '';

  constructor() {
    this.facts = element('div', 'mosaic-call-facts', this.el);
    this.prompt = scrollable(element('div', 'mosaic-prompt', this.el), 'prompt');
    this.note = element('i', '', this.prompt);
    this.turns = element('div', '', this.prompt);
    [this.reasoningPart, this.reasoning] = this.part('reasoning');
    const [, answer] = this.part('answer');
    this.answer = [element('span', '', answer), element('mark', '', answer), element('span', '', answer)];
    this.answer[1].title = 'what was played';
  }

  draw(exchange: Exchange, name: string): void {
    this.el.setAttribute('aria-label', name);
    this.drawFacts(exchange);
    setText(this.note, exchange.note);
    const prompt = JSON.stringify(exchange.turns);
    if (prompt !== this.drawn) {
      this.drawn = prompt;
      this.drawTurns(exchange.turns);
      this.prompt.scrollTop = this.prompt.scrollHeight; // the agent's current observation comes last
    }
    setText(this.reasoning, exchange.reasoning);
    this.reasoningPart.hidden = exchange.reasoning === '';
    this.answer.forEach((node, i) => {
      setText(node, exchange.answer[i] ?? '');
    });
  }

  private part(name: string): [HTMLElement, HTMLElement] {
    const part = element('div', 'mosaic-part', this.el);
    element('b', '', part, name);
    return [part, scrollable(element('pre', `mosaic-${name}-text`, part), name)];
  }

  private drawFacts({ facts, faults }: Exchange): void {
    const shown = [
      ...facts.map(fact => ({ className: 'mosaic-fact', fact })),
      ...faults.map(fact => ({ className: 'mosaic-chip mosaic-warning', fact }))
    ];
    const key = ({ className, fact: [text] }: { className: string; fact: Hinted }) => `${className} ${text}`;
    drawEach(
      this.facts,
      shown,
      key,
      () => plain('span'),
      ({ el }, { className, fact: [text, hint] }) => {
        el.className = className;
        el.title = hint;
        setText(el, text);
      }
    );
  }

  private drawTurns(turns: PromptTurn[]): void {
    drawEach(this.turns, turns, place, newTurn, (turn, { role, text, images }) => {
      setText(turn.role, role);
      setText(turn.text, text);
      const key = (image: PromptTurn['images'][number]) => image.src || image.text;
      drawEach(
        turn.images,
        images,
        key,
        () => plain('img'),
        ({ el }, { src, text }) => {
          el.alt = el.title = text;
          if (IMAGE.test(src) && el.src !== src) el.src = src;
        }
      );
    });
  }
}

function newTurn(): Turn {
  const el = element('div', 'mosaic-turn-of');
  return {
    el,
    role: element('b', '', el),
    text: element('pre', '', el),
    images: element('div', '', el)
  };
}
