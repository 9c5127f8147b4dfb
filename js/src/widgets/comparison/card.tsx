/** One lane: its operators, its picture, the numbers of its last step, and faults. */

import { useLayoutEffect } from 'react';
import { scrollable } from '../../views/scrollable.ts';
import { element } from '../common/elements.ts';
import { Button, CollapsibleText, Notice, Slot, Swatch, Tail } from '../common/parts.tsx';
import { OFF, Tile, type TileOptions } from '../frames/tile.ts';
import type { WidgetManager } from '../host/ipywidgets.ts';
import { suppressShortcuts } from '../host/kernel.ts';
import type { Bindings, KeyBinding, Lane, ModelReference, Notice as TileNotice } from '../messages.ts';
import type { CallComparison } from './bar.tsx';
import { isLive, laneChip, laneFacts, laneFaults, reasoningText, writingText } from './card-text.ts';
import { Exchanges, useLanguage } from './exchange.tsx';
import { Facts, Moves, Operators } from './lane-parts.tsx';
import { People } from './people.tsx';

/** A tile with a notice only in place of a missing or old picture; the card shows the rest. */
export class LaneTile extends Tile {
  /** Its rate and buttons, in the head of the card. */
  readonly tools: HTMLElement;

  constructor(options: Pick<TileOptions, 'settings' | 'request'>) {
    const tools = element('span', 'mosaic-slot');
    super(null, { ...options, label: '', bar: tools });
    this.tools = tools;
    suppressShortcuts(this.stage);
  }

  override say(notice: TileNotice): void {
    super.say(notice);
    this.notice.hidden ||= !notice.text.startsWith(OFF);
    this.notice.textContent = 'Frames are off: this picture is of an earlier step.';
  }
}

export interface CardProps {
  readonly lane: Lane;
  readonly tile: LaneTile;
  /** The comparison has ended. */
  readonly closed: boolean;
  /** The number of the kernel's last message: a failed call has answered nothing. */
  readonly said: number;
  /** The keys changed in this page. */
  readonly bindings: Bindings[string];
  readonly call: CallComparison;
  readonly bind: (lane: number, agent: string, keys: KeyBinding[] | null) => void;
  readonly manager: WidgetManager;
  readonly language: ModelReference;
}

export function Card(props: CardProps) {
  const { lane, tile } = props;
  const { label, state, color, run, blank, totals, reason, log } = lane;
  const chip = laneChip(lane);
  const failed = state === 'failed';
  useLayoutEffect(() => {
    tile.stage.hidden = tile.el.hidden = run === '' || blank !== '';
  }, [tile, run, blank]);
  return (
    <section className="mosaic-lane" data-state={state} aria-label={`lane ${label}`}>
      <div className="mosaic-tile-head mosaic-lane-head">
        <Swatch color={color} />
        <span className="mosaic-title" title={label}>
          {label}
        </span>
        <Slot node={tile.tools} />
      </div>
      <Operators lane={lane} />
      <div className="mosaic-lane-body">
        <Slot node={tile.el} />
        <Facts facts={laneFacts(lane)} />
        <Facts facts={totals} hidden={totals.length === 0} />
        <Moves lane={lane} />
        <People {...props} />
        <Reasons {...props} />
        <Notice className="mosaic-warning">{laneFaults(lane)}</Notice>
        <Notice className="mosaic-error" role="alert">
          {failed ? reason : ''}
        </Notice>
        <CollapsibleText title="Log" text={failed ? log : ''} />
        <div className="mosaic-lane-foot">
          <LaneButtons {...props} />
          <span className="mosaic-thinking" title={lane.thinking}>
            {lane.thinking}
          </span>
          <span className={`mosaic-chip mosaic-${chip.tone}`} hidden={chip.text === ''}>
            {chip.text}
          </span>
        </div>
      </div>
    </section>
  );
}

/** The messages of the lane's operators and the exchanges of its language model. */
function Reasons({ lane, closed, manager, language }: CardProps) {
  const model = useLanguage(manager, language);
  const writing = model?.get('writing') ?? [];
  const { open, folded } = reasoningText(lane, closed);
  return (
    <>
      <div
        className={`mosaic-reasoning${lane.speaks && open !== '' ? ' mosaic-speaks' : ''}`}
        hidden={writing.length > 0}
      >
        {open}
      </div>
      <Tail
        className="mosaic-speaks mosaic-writing"
        {...scrollable('what the model writes')}
        hidden={writing.length === 0}
        text={writingText(writing)}
      />
      <CollapsibleText title="Reasoning" className="mosaic-reasons" text={folded} />
      {model && <Exchanges model={model} waiting={lane.thinking !== ''} hidden={!lane.speaks} />}
    </>
  );
}

function LaneButtons({ lane: { index, label, state }, closed, call }: CardProps) {
  const failed = state === 'failed';
  const step = `One step of ${label} alone`;
  return (
    <>
      <Button
        title={step}
        aria-label={step}
        disabled={closed || !isLive({ state }) || state === 'finished'}
        hidden={failed}
        onClick={() => call('step_lane', { lane: index })}
      >
        Step lane
      </Button>
      <Button
        title={`Restart ${label}; it catches up with the other lanes`}
        aria-label={`Restart ${label}`}
        disabled={closed}
        hidden={!failed}
        onClick={() => call('restart', { lane: index })}
      >
        Restart
      </Button>
    </>
  );
}
