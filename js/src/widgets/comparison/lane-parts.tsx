/** Parts of a lane's card: its operators, the last action of each agent, and numbers. */

import type { Fact, Lane, LaneOperator, Move } from '../messages.ts';
import { moveFault, tokensText } from './card-text.ts';

const MANY = 4; // agents; with more, their actions scroll

/** All facts about an operator, one per line. */
function hintOf({ name, category, agents, about }: LaneOperator, several: boolean): string {
  const whose = several ? `: ${agents.join(', ')}` : '';
  return [`${name} (${category})${whose}`, ...about.map(([text, hint]) => `${text}: ${hint}`)].join('\n');
}

export function Operators({ lane: { operators, several, turn, aec } }: { lane: Lane }) {
  return (
    <div className="mosaic-operators">
      {operators.map(operator => {
        const { key, name, category, agents, about } = operator;
        const acts = aec && agents.some(agent => turn.includes(agent));
        return (
          <span
            key={key}
            className={`mosaic-operator${acts ? ' mosaic-turn' : ''}`}
            title={hintOf(operator, several)}
          >
            <span className={`mosaic-chip mosaic-category mosaic-category-${category}`}>{category}</span>
            <span className="mosaic-operator-name">{name === category ? '' : name}</span>
            <span className="mosaic-operator-agents">{several ? agents.join(', ') : ''}</span>
            <span className="mosaic-about">
              {about.map(([text, hint, warns]) => (
                <span key={text} title={hint} className={warns ? 'mosaic-warning' : ''}>
                  {text}
                </span>
              ))}
            </span>
          </span>
        );
      })}
    </div>
  );
}

export function Facts({ facts, hidden = false }: { facts: readonly Fact[]; hidden?: boolean }) {
  return (
    <div className="mosaic-numbers mosaic-lane-facts" hidden={hidden}>
      {facts.map(([value, name, hint]) => (
        <span key={name} className="mosaic-fact" data-name={name} title={hint}>
          {name} <b>{value}</b>
        </span>
      ))}
    </div>
  );
}

function MoveLine({ move, several, speaks }: { move: Move; several: boolean; speaks: boolean }) {
  const [read, written] = move.tokens;
  const fault = moveFault(move);
  return (
    <div className="mosaic-move">
      <span className="mosaic-agent">{several ? move.agent : 'action'}</span>
      <span className="mosaic-action" title={move.text}>
        {move.text}
      </span>
      <span className="mosaic-reward" title="reward">
        {several ? move.reward : ''}
      </span>
      <span className="mosaic-tokens" title={`tokens: ${read} read, ${written} written`}>
        {speaks ? tokensText(move) : ''}
      </span>
      <span className="mosaic-latency" title="latency: how long the answer took">
        {move.latency}
      </span>
      <span className="mosaic-chip mosaic-warning" title={fault.hint} hidden={fault.text === ''}>
        {fault.text}
      </span>
    </div>
  );
}

interface MovesProps {
  readonly lane: Pick<Lane, 'moves' | 'more' | 'several' | 'speaks'>;
}

export function Moves({ lane: { moves, more, several, speaks } }: MovesProps) {
  return (
    <div
      className={`mosaic-moves${moves.length > MANY ? ' mosaic-many' : ''}`}
      title={more ? `and ${more} more agents` : ''}
    >
      {moves.map(move => (
        <MoveLine key={move.agent} move={move} several={several} speaks={speaks} />
      ))}
    </div>
  );
}
