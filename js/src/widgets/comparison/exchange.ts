/**
 * The part of a lane's card for its language models: the text being written and, collapsed below it, the
 * exchanges of the last step. It renders its own model, which the kernel fills while the part is expanded,
 * and acknowledges each update.
 */

import { option, select } from '../common/buttons.ts';
import { collapsible, followOpened } from '../common/collapsible.ts';
import { drawEach, element, keepAtEnd, place, plain, setText } from '../common/elements.ts';
import type { Model } from '../host/anywidget.ts';
import { modelOf, type WidgetManager } from '../host/ipywidgets.ts';
import type { LanguageTraits, ModelReference } from '../messages.ts';
import { ExchangeCall, scrollable } from './exchange-call.ts';
import { callName, complete, headText, writingText } from './exchange-text.ts';

export class ExchangeView {
  readonly el: HTMLDetailsElement;
  private readonly reasoning: HTMLElement;
  private readonly writing: HTMLElement;
  private readonly agent: HTMLSelectElement;
  private readonly head: HTMLElement;
  private readonly calls: HTMLElement;
  private readonly messages: HTMLElement;
  private model: Model<LanguageTraits> | null = null;
  private unfollow = () => {};
  private ended = false;
  private due = 0;
  private waiting = false;

  /** `reasoning` is replaced by the text being written. */
  constructor(parent: Node, reasoning: HTMLElement) {
    this.reasoning = reasoning;
    this.writing = scrollable(element('div', 'mosaic-speaks mosaic-writing'), 'what the model writes');
    this.writing.hidden = true;
    reasoning.after(this.writing);
    this.el = collapsible(parent, 'Prompt and answer', 'mosaic-exchange').el;
    const head = element('div', 'mosaic-exchange-head', this.el);
    const choose = (agent: string) => this.set({ agent });
    this.agent = select(head, 'Agent', choose, 'mosaic-button mosaic-small');
    this.head = element('span', '', head);
    this.calls = element('div', '', this.el);
    this.messages = element('ul', 'mosaic-messages', this.el);
    this.messages.setAttribute('aria-label', 'messages of the agents in this step');
  }

  async connect(manager: WidgetManager, reference: ModelReference): Promise<void> {
    const model = await modelOf<LanguageTraits>(manager, reference);
    if (this.ended) return;
    this.model = model;
    this.unfollow = followOpened(this.el, model);
    model.on('change:number', this.drawSoon);
    this.draw(model);
  }

  /** `waiting`: the lane waits for an answer. */
  setWaiting(waiting: boolean): void {
    this.waiting = waiting;
    if (this.model) this.drawHead(this.model);
  }

  end(): void {
    this.ended = true;
    cancelAnimationFrame(this.due);
    this.unfollow();
    this.model?.off('change:number', this.drawSoon);
  }

  private readonly drawSoon = (): void => {
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      if (this.model) this.draw(this.model);
    });
  };

  private set(values: Partial<LanguageTraits>): void {
    this.model?.set(values);
    this.model?.save_changes();
  }

  private draw(model: Model<LanguageTraits>): void {
    const writing = model.get('writing');
    this.writing.hidden = writing.length === 0;
    this.reasoning.hidden = writing.length > 0;
    keepAtEnd(this.writing, () => setText(this.writing, writingText(writing)));
    this.drawShown(model);
    this.set({ drawn: model.get('number') });
  }

  private drawHead(model: Model<LanguageTraits>): void {
    const waiting = this.waiting || model.get('writing').length > 0;
    setText(this.head, headText(complete(model.get('shown')), waiting));
  }

  private drawShown(model: Model<LanguageTraits>): void {
    const shown = complete(model.get('shown'));
    drawEach(
      this.agent,
      shown.agents,
      name => name,
      name => ({ el: option(null, name, name) })
    );
    this.agent.value = shown.agent;
    this.agent.hidden = shown.agents.length < 2;
    this.drawHead(model);
    drawEach(
      this.calls,
      shown.calls,
      place,
      () => new ExchangeCall(),
      (call, exchange, i) => {
        call.draw(exchange, callName(shown, i));
      }
    );
    drawEach(
      this.messages,
      shown.messages,
      place,
      () => plain('li'),
      ({ el }, [from, to, text]) => {
        setText(el, `${from} → ${to}: ${text}`);
      }
    );
    this.messages.hidden = shown.messages.length === 0;
  }
}
