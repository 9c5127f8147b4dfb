/**
 * The parts below a panel's chart: heads of collapsible parts, whose widgets the kernel creates when they are
 * expanded; notices about the run's health, and the tail of its log. A collapsed log sends only its last line.
 */

import { Collapsible, Notice, Tail, useOpened } from '../common/parts.tsx';
import type { RenderContext } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { CollapsibleTraits, FooterTraits } from '../messages.ts';

export function CollapsibleHead({ model }: RenderContext<CollapsibleTraits>) {
  return <Collapsible title={model.get('title')} note={useTrait(model, 'text')} {...useOpened(model)} />;
}

export function Footer({ model }: RenderContext<FooterTraits>) {
  const notices = useTrait(model, 'notices');
  const lines = useTrait(model, 'lines');
  const hidden = !useTrait(model, 'has_log');
  return (
    <>
      <div className="mosaic-notices">
        {notices.map(({ level, text }, i) => (
          <Notice key={i} className={`mosaic-${level}`}>
            {text}
          </Notice>
        ))}
      </div>
      <Collapsible title="Log" note={lines.at(-1) ?? ''} hidden={hidden} {...useOpened(model)}>
        <Tail text={lines.join('\n') || 'nothing written yet'} />
      </Collapsible>
    </>
  );
}
