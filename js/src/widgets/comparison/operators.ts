/** The operators of a lane: category, name, agents and description. */

import { drawEach, element, plain, setText } from '../common/elements.ts';
import type { Lane, LaneOperator } from '../messages.ts';

/** All facts about an operator, one per line. */
function hintOf({ name, category, agents, about }: LaneOperator, several: boolean): string {
  const whose = several ? `: ${agents.join(', ')}` : '';
  return [`${name} (${category})${whose}`, ...about.map(([text, hint]) => `${text}: ${hint}`)].join('\n');
}

function newOperator() {
  const el = element('span', 'mosaic-operator');
  return {
    el,
    chip: element('span', 'mosaic-chip', el),
    name: element('span', 'mosaic-operator-name', el),
    agents: element('span', 'mosaic-operator-agents', el),
    about: element('span', 'mosaic-about', el)
  };
}

export function drawOperators(parent: Element, { operators, several, turn, aec }: Lane): void {
  drawEach(
    parent,
    operators,
    ({ key }) => key,
    newOperator,
    (item, operator) => {
      const { name, category, agents, about } = operator;
      item.chip.className = `mosaic-chip mosaic-category mosaic-category-${category}`;
      setText(item.chip, category);
      setText(item.name, name === category ? '' : name);
      setText(item.agents, several ? agents.join(', ') : '');
      drawEach(
        item.about,
        about,
        ([text]) => text,
        ([text]) => plain('span', '', text),
        ({ el }, [, hint, warns]) => {
          el.title = hint;
          el.className = warns ? 'mosaic-warning' : '';
        }
      );
      item.el.title = hintOf(operator, several);
      item.el.classList.toggle('mosaic-turn', aec && agents.some(agent => turn.includes(agent)));
    }
  );
}
