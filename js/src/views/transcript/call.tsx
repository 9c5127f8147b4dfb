/** One request to a language model and its answer. Texts from models and endpoints are inserted as text only. */

import './call.css';
import { type ReactNode, useLayoutEffect, useRef } from 'react';
import type { Exchange, PromptTurn } from '../../shared/run-api.ts';
import { scrollable } from '../scrollable.ts';
import { trans } from '../translation.ts';

const IMAGE = /^data:image\/png;base64,[A-Za-z0-9+/=]+$/;

/** One request and its answer: the prompt by turns, the reasoning, the answer with the parsed action, the cost. */
export function Call({ exchange, name }: { exchange: Exchange; name: string }): ReactNode {
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
        <b>{trans.__('reasoning')}</b>
        <pre className="mosaic-reasoning-text" {...scrollable('reasoning')}>
          {reasoning}
        </pre>
      </div>
      <div className="mosaic-part">
        <b>{trans.__('answer')}</b>
        <pre className="mosaic-answer-text" {...scrollable('answer')}>
          <span>{before}</span>
          <mark title={trans.__('the played action')}>{action}</mark>
          <span>{after}</span>
        </pre>
      </div>
    </section>
  );
}

function Turn({ turn: { role, text, images } }: { turn: PromptTurn }): ReactNode {
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
