/**
 * The parts of a lane's card for its language models: the text being written and, collapsed below it, the
 * exchanges of the last step. They render their own model, which the kernel fills while they are expanded,
 * and acknowledge each update. Texts from models and endpoints are inserted into the page as text only.
 */

import { useEffect, useState } from 'react';
import { Call } from '../../views/transcript/call.tsx';
import { Collapsible, OWN_KEYS, useOpened } from '../common/parts.tsx';
import { type Model, send } from '../host/anywidget.ts';
import { modelOf, type WidgetManager } from '../host/ipywidgets.ts';
import type { LanguageTraits, ModelReference } from '../messages.ts';
import { callName, complete, headText } from './card-text.ts';

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
      loaded => !ended && setModel(loaded),
      reason => console.warn('MOSAIC: exchanges of a lane cannot be shown:', reason)
    );
    return () => {
      ended = true;
    };
  }, [manager, reference]);
  useEffect(() => {
    if (!model) return;
    let request = 0;
    const draw = () => {
      request = 0;
      setDrawn(model.get('number'));
    };
    const drawSoon = () => {
      request ||= requestAnimationFrame(draw);
    };
    draw();
    model.on('change:number', drawSoon);
    return () => {
      cancelAnimationFrame(request);
      model.off('change:number', drawSoon);
    };
  }, [model]);
  useEffect(() => {
    if (model && drawn >= 0) send(model, 'drawn', drawn);
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
  const exchanges = complete(model.get('shown'));
  return (
    <Collapsible title="Prompt and answer" className="mosaic-exchange" hidden={hidden} {...useOpened(model)}>
      <div className="mosaic-exchange-head">
        <select
          className="mosaic-button mosaic-small"
          aria-label="Agent"
          hidden={exchanges.agents.length < 2}
          value={exchanges.agent}
          onChange={event => send(model, 'agent', event.currentTarget.value)}
          {...OWN_KEYS}
        >
          {exchanges.agents.map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span>{headText(exchanges, waiting || model.get('writing').length > 0)}</span>
      </div>
      <div>
        {exchanges.calls.map((call, i) => (
          <Call key={i} exchange={call} name={callName(exchanges, i)} />
        ))}
      </div>
      <ul
        className="mosaic-messages"
        aria-label="messages of the agents in this step"
        hidden={exchanges.messages.length === 0}
      >
        {exchanges.messages.map(([from, to, text], i) => (
          <li key={i}>{`${from} → ${to}: ${text}`}</li>
        ))}
      </ul>
    </Collapsible>
  );
}
