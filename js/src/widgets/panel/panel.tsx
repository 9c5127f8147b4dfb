/**
 * The parts of a panel as views (see `part.ts`); those below its chart: heads of collapsible parts, whose widgets
 * the kernel creates when they are expanded; notices about the run's health, and the tail of its log. A collapsed
 * log sends only its last line.
 */

import { Collapsible, Notice, Tail, useOpened } from '../common/parts.tsx';
import type { RenderContext } from '../host/anywidget.ts';
import { useTrait, view } from '../host/react.ts';
import type { CollapsibleTraits, FooterTraits } from '../messages.ts';
import { Controls } from './controls.tsx';
import { Header } from './header.tsx';

export const header = view(Header, 'mosaic-header');
export const controls = view(Controls, 'mosaic-controls');
export const footer = view(Footer, 'mosaic-footer');
export const collapsible = view(CollapsibleHead, 'mosaic-collapsible');

function CollapsibleHead({ model }: RenderContext<CollapsibleTraits>) {
  return <Collapsible title={model.get('title')} note={useTrait(model, 'text')} {...useOpened(model)} />;
}

function Footer({ model }: RenderContext<FooterTraits>) {
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
