/**
 * A comparison: a tool bar, and a card per lane. The trait `state` has the content. The user's requests are
 * sent in `calls`, the last few of all views, so that none is lost if several are made at once.
 */

import '../panel/panel.css';
import '../frames/frames.css';
import './comparison.css';
import { useCallback, useEffect, useRef, useState } from 'react';
import { SILENT_KERNEL, type Trouble, useKernelTrouble } from '../common/kernel-watch.ts';
import { showPageNotice } from '../common/page-notice.ts';
import { Notice } from '../common/parts.tsx';
import { Frames } from '../frames/frames.ts';
import type { Settings, Size } from '../frames/settings.ts';
import { type Model, type RenderContext, send, viewName } from '../host/anywidget.ts';
import { useTrait, view } from '../host/react.ts';
import type { ComparisonTraits, KeyBinding } from '../messages.ts';
import { Bar, type CallComparison } from './bar.tsx';
import { Card, LaneTile } from './card.tsx';
import { keepFocusOnKeys } from './keys.ts';

const MAX_CALLS = 24;
const SAID_MS = 15_000;
const FPS = 60; // every step up to the fastest speed offered, also if lanes step at this rate with some jitter
const FASTEST_FPS = 30; // of lanes that play as fast as possible: each frame delays their next step
const TROUBLE: Record<Trouble, string> = {
  '': '',
  silent: SILENT_KERNEL,
  ended:
    'The kernel was restarted or shut down, and its comparisons ended with it. Run this cell again to start a new one.'
};

/** The folders of the lanes. One that never had a folder has no picture: any other is used in its place. */
function runsOf(model: Model<ComparisonTraits>): string[] {
  const runs = model.get('state').lanes.map(({ run }) => run);
  return runs.map(run => run || runs.find(Boolean) || '/');
}

/** A message and its setter; it disappears after a while. */
function useMessage() {
  const [message, setMessage] = useState({ text: '', error: false });
  const say = useCallback((text: string, error = false) => setMessage({ text, error }), []);
  useEffect(() => {
    const timer = setTimeout(() => say(''), SAID_MS);
    return () => clearTimeout(timer);
  }, [message, say]);
  return [message, say] as const;
}

/** The picture of each lane, drawn until the view ends; and why no new frames arrive. */
function useFrames(
  model: Model<ComparisonTraits>,
  el: HTMLElement,
  say: (text: string, error?: boolean) => void
) {
  const [trouble, setTrouble] = useState('');
  const [{ frames, tiles, settings }] = useState(() => {
    const settings: Settings = { fps: FPS, paused: false, hud: false, scale: 'auto', size: 'medium' };
    const tiles = model.get('state').lanes.map((_, lane) => {
      return new LaneTile({ settings, request: message => frames.request(lane, message) });
    });
    const runs = () => runsOf(model);
    const frames = new Frames(model, el, { tiles, settings, runs, say, trouble: setTrouble });
    return { frames, tiles, settings };
  });
  useEffect(() => {
    frames.start().catch((reason: Error) => setTrouble(`Frames cannot be shown here: ${reason.message}`));
    return () => frames.end();
  }, [frames]);
  const runs = runsOf(model).join('\n');
  useEffect(() => frames.reopen(), [frames, runs]);
  const speed = useTrait(model, 'speed');
  useEffect(() => {
    settings.fps = speed ? FPS : FASTEST_FPS;
    frames.look();
  }, [frames, settings, speed]);
  const resize = (size: Size) => {
    settings.size = size;
    for (const tile of tiles) tile.fit();
  };
  return { tiles, trouble, resize };
}

function Comparison({ model, el }: RenderContext<ComparisonTraits>) {
  const state = useTrait(model, 'state');
  const bindings = useTrait(model, 'bindings');
  const said = useTrait(model, 'said');
  const [message, say] = useMessage();
  const trouble = useKernelTrouble(model, el, () => model.get('state').mode !== 'closed');
  const [size, setSize] = useState<Size>('medium');
  const frames = useFrames(model, el, say);
  const lastSaid = useRef(said);
  useEffect(() => {
    if (said !== lastSaid.current) say(said.text, said.level === 'error');
  }, [said, say]);
  useEffect(() => keepFocusOnKeys(el), [el]);
  useEffect(() => showPageNotice(el), [el]);
  useEffect(() => frames.resize(size), [size]);

  const calls = useRef({ view: viewName(), count: 0 }).current;
  const call: CallComparison = (name, args = {}) => {
    calls.count += 1;
    const all = [
      ...model.get('calls'),
      [calls.view, calls.count, name, args] as ComparisonTraits['calls'][number]
    ];
    send(model, 'calls', all.slice(-MAX_CALLS));
  };
  const bind = (lane: number, agent: string, keys: KeyBinding[] | null) => {
    const all = model.get('bindings');
    send(model, 'bindings', { ...all, [lane]: { ...all[lane], [agent]: keys } });
  };
  // Problems with the kernel take precedence over those with the frames, which they cause.
  const problem = TROUBLE[trouble] || frames.trouble;
  const stale = problem ? ' mosaic-stale' : '';
  return (
    <>
      <div className={`mosaic-bar mosaic-compare-bar${stale}`} inert={trouble !== ''}>
        <Bar model={model} state={state} call={call} say={say} size={size} resize={setSize} />
      </div>
      <Notice className={`mosaic-${message.error ? 'error' : 'info'}`} role="status">
        {message.text}
      </Notice>
      <Notice className="mosaic-warning">{problem}</Notice>
      <div className={`mosaic-lane-grid${stale}`} data-size={size} inert={trouble !== ''}>
        {frames.tiles.map((tile, i) => {
          const lane = state.lanes[i];
          return (
            lane && (
              <Card
                key={lane.index}
                lane={lane}
                tile={tile}
                closed={state.mode === 'closed'}
                said={said.number}
                bindings={bindings[lane.index] ?? {}}
                call={call}
                bind={bind}
                manager={model.widget_manager}
                language={model.get('language')[i] ?? ''}
              />
            )
          );
        })}
      </div>
    </>
  );
}

export default view(Comparison, 'mosaic-lanes');
