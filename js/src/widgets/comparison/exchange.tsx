/**
 * The parts of a lane's card for its language models: the text being written and, collapsed below it, the
 * exchanges of the last step. They render their own model, which the kernel fills while they are expanded,
 * and acknowledge each update. Texts from models and endpoints are inserted into the page as text only.
 */

import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Collapsible, OWN_KEYS, scrollable, useOpened } from '../common/parts.tsx';
import type { Model } from '../host/anywidget.ts';
import { modelOf, type WidgetManager } from '../host/ipywidgets.ts';
import type { Exchange, LanguageTraits, ModelReference, PromptTurn } from '../messages.ts';
import { callName, complete, headText } from './card-text.ts';

const IMAGE = /^data:image\/png;base64,[A-Za-z0-9+/=]+$/;

/**
 * The model of a lane's exchanges; null until it is known. The component is drawn again at the next repaint
 * after an update, which is acknowledged then: an invisible page gets none.
 */
export function useLanguage(manager: WidgetManager, reference: ModelReference): Model<LanguageTraits> | null {
  const [model, setModel] = useState<Model<LanguageTraits> | null>(null);
  const [drawn, setDrawn] = useState(-1);
  useEffect(() => {
    let ended = false;
    modelOf<LanguageTraits>(manager, reference).then(
      found => !ended && setModel(found),
      reason => console.warn('MOSAIC: exchanges of a lane cannot be shown:', reason)
    );
    return () => {
      ended = true;
    };
  }, [manager, reference]);
  useEffect(() => {
    if (!model) return;
    let due = 0;
    const draw = () => {
      due = 0;
      setDrawn(model.get('number'));
    };
    const drawSoon = () => {
      due ||= requestAnimationFrame(draw);
    };
    draw();
    model.on('change:number', drawSoon);
    return () => {
      cancelAnimationFrame(due);
      model.off('change:number', drawSoon);
    };
  }, [model]);
  useEffect(() => {
    if (!model || drawn < 0) return;
    model.set({ drawn });
    model.save_changes();
  }, [model, drawn]);
  return model;
}

interface ExchangesProps {
  readonly model: Model<LanguageTraits>;
  /** The lane waits for an answer. */
  readonly waiting: boolean;
  readonly hidden: boolean;
}

export function Exchanges({ model, waiting, hidden }: ExchangesProps) {
  const shown = complete(model.get('shown'));
  const choose = (agent: string) => {
    model.set({ agent });
    model.save_changes();
  };
  return (
    <Collapsible title="Prompt and answer" className="mosaic-exchange" hidden={hidden} {...useOpened(model)}>
      <div className="mosaic-exchange-head">
        <select
          className="mosaic-button mosaic-small"
          aria-label="Agent"
          hidden={shown.agents.length < 2}
          value={shown.agent}
          onChange={event => choose(event.currentTarget.value)}
          {...OWN_KEYS}
        >
          {shown.agents.map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span>{headText(shown, waiting || model.get('writing').length > 0)}</span>
      </div>
      <div>
        {shown.calls.map((call, i) => (
          <Call key={i} exchange={call} name={callName(shown, i)} />
        ))}
      </div>
      <ul
        className="mosaic-messages"
        aria-label="messages of the agents in this step"
        hidden={shown.messages.length === 0}
      >
        {shown.messages.map(([from, to, text], i) => (
          <li key={i}>{`${from} → ${to}: ${text}`}</li>
        ))}
      </ul>
    </Collapsible>
  );
}

/** One request and its answer: the prompt by turns, the reasoning, the answer with the parsed action, the cost. */
export function Call({ exchange, name }: { exchange: Exchange; name: string }) {
  const { note, turns, reasoning, answer, facts, faults } = exchange;
  const [before, action, after] = answer;
  const prompt = useRef<HTMLDivElement>(null);
  const content = JSON.stringify(turns);
  useLayoutEffect(() => prompt.current?.scrollTo(0, prompt.current.scrollHeight), [content]);
  return (
    <section className="mosaic-call" aria-label={name}>
      <div className="mosaic-call-facts">
        {facts.map(([text, hint]) => (
          <span key={text} className="mosaic-fact" title={hint}>
            {text}
          </span>
        ))}
        {faults.map(([text, hint]) => (
          <span key={`fault ${text}`} className="mosaic-chip mosaic-warning" title={hint}>
            {text}
          </span>
        ))}
      </div>
      <div className="mosaic-prompt" ref={prompt} {...scrollable('prompt')}>
        <i>{note}</i>
        <div>
          {turns.map((turn, i) => (
            <Turn key={i} turn={turn} />
          ))}
        </div>
      </div>
      <div className="mosaic-part" hidden={reasoning === ''}>
        <b>reasoning</b>
        <pre className="mosaic-reasoning-text" {...scrollable('reasoning')}>
          {reasoning}
        </pre>
      </div>
      <div className="mosaic-part">
        <b>answer</b>
        <pre className="mosaic-answer-text" {...scrollable('answer')}>
          <span>{before}</span>
          <mark title="what was played">{action}</mark>
          <span>{after}</span>
        </pre>
      </div>
    </section>
  );
}

function Turn({ turn: { role, text, images } }: { turn: PromptTurn }) {
  return (
    <div className="mosaic-turn-of">
      <b>{role}</b>
      <pre>{text}</pre>
      <div>
        {images.map(({ src, text }) => (
          <img key={src || text} alt={text} title={text} src={IMAGE.test(src) ? src : undefined} />
        ))}
      </div>
    </div>
  );
}
