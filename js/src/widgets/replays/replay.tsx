/**
 * A player of replays side by side: their pictures, and the actions, rewards and exchanges of a step. The films
 * have a frame for each state, so that a step is a moment of them; nothing is requested from the kernel.
 *
 * `at` is the number of steps played so far: the picture is of the state in which the step `at` is made.
 */

import '../common/cell.css';
import '../panel/panel.css';
import '../comparison/comparison.css';
import './replay.css';
import {
  type KeyboardEvent,
  type MouseEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import { Select } from '../../views/controls.tsx';
import { Call } from '../../views/transcript/call.tsx';
import { Button, Collapsible, CollapsibleText, Icon, OWN_KEYS, Swatch } from '../common/parts.tsx';
import { Facts, Moves } from '../comparison/lane-parts.tsx';
import { type Model, type RenderContext, send } from '../host/anywidget.ts';
import { useTrait, view } from '../host/react.ts';
import type { Replay, ReplayTraits } from '../messages.ts';
import { frameOf, keyTarget, momentOf } from './moments.ts';

const FOCUSABLE = { tabIndex: 0, ...OWN_KEYS };
const SPEEDS = [1, 2, 5, 10, 20, 30, 60];

function Player({ model }: RenderContext<ReplayTraits>) {
  const replays = useTrait(model, 'replays');
  const films = useTrait(model, 'films');
  const at = useTrait(model, 'at');
  const [level, notice] = useTrait(model, 'notice');
  const title = model.get('title');
  const last = Math.max(...replays.map(({ steps }) => steps.length));
  const go = useCallback(
    (step: number) => send(model, 'at', Math.max(0, Math.min(last, step))),
    [model, last]
  );
  const { playing, setPlaying } = usePlaying(model, last, go);
  const toggle = () => {
    if (!playing && at >= last) go(0);
    setPlaying(!playing);
  };
  const move = (step: number) => {
    setPlaying(false);
    go(step);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const handled = key === ' ' ? 'select, summary, pre, button' : 'select, summary, pre';
    if (ctrlKey || metaKey || altKey || (target as HTMLElement).closest(handled)) return;
    const step = keyTarget(key, at, last);
    if (step === null && key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    if (step === null) toggle();
    else move(step);
  };
  return (
    <div
      className="mosaic-replay-body"
      role="application"
      aria-label={`replay of ${title}; space plays, arrow keys step`}
      onKeyDown={onKeyDown}
      {...FOCUSABLE}
    >
      <div className="mosaic-bar mosaic-compare-bar">
        <span className="mosaic-title" title={title}>
          {title}
        </span>
        <Bar model={model} at={at} last={last} playing={playing} toggle={toggle} move={move} />
      </div>
      {notice && <output className={`mosaic-notice mosaic-${level}`}>{notice}</output>}
      <div className="mosaic-lane-grid" data-size={replays.length === 1 ? 'large' : 'medium'}>
        {replays.map((replay, i) => (
          <Card
            key={replay.label}
            replay={replay}
            film={films[i]}
            at={at}
            toggle={toggle}
            continueHere={() => send(model, 'continued', { replay: i, step: at, number: Date.now() })}
          />
        ))}
      </div>
    </div>
  );
}

/** Playing: a step after another, at the speed of the model, until the last. */
function usePlaying(model: Model<ReplayTraits>, last: number, go: (step: number) => void) {
  const speed = useTrait(model, 'speed');
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => {
      const next = model.get('at') + 1;
      go(next);
      if (next >= last) setPlaying(false);
    }, 1000 / speed);
    return () => clearInterval(timer);
  }, [playing, speed, last, go, model]);
  return { playing, setPlaying };
}

interface BarProps {
  readonly model: Model<ReplayTraits>;
  readonly at: number;
  readonly last: number;
  readonly playing: boolean;
  readonly toggle: () => void;
  readonly move: (step: number) => void;
}

function Bar({ model, at, last, playing, toggle, move }: BarProps) {
  const speed = useTrait(model, 'speed');
  const differ = useTrait(model, 'first_difference');
  return (
    <span className="mosaic-bar-group mosaic-replay-controls">
      <Button title="Space plays and pauses" onClick={toggle}>
        <Icon name={playing ? 'pause' : 'play'} />
        {playing ? 'Pause' : 'Play'}
      </Button>
      <Button
        title="One step back (←)"
        aria-label="One step back"
        disabled={at <= 0}
        onClick={() => move(at - 1)}
      >
        ‹
      </Button>
      <input
        type="range"
        aria-label="Step"
        min={0}
        max={last}
        value={at}
        onChange={event => move(Number(event.currentTarget.value))}
      />
      <Button
        title="One step forward (→)"
        aria-label="One step forward"
        disabled={at >= last}
        onClick={() => move(at + 1)}
      >
        ›
      </Button>
      <output className="mosaic-dim">{`${at} / ${last}`}</output>
      <Select
        className="mosaic-button"
        aria-label="Steps per second"
        value={speed}
        options={SPEEDS.map(value => [String(value), value === 1 ? '1 step/s' : `${value} steps/s`])}
        choose={value => send(model, 'speed', Number(value))}
      />
      {differ !== null && (
        <Button title="The first step in which the replays differ" onClick={() => move(differ)}>
          {`First difference: step ${differ}`}
        </Button>
      )}
    </span>
  );
}

interface CardProps {
  readonly replay: Replay;
  readonly film: DataView | undefined;
  readonly at: number;
  readonly toggle: () => void;
  readonly continueHere: () => void;
}

function Card({ replay, film, at, toggle, continueHere }: CardProps) {
  const { label, color, verdict, differs, note, steps, end, several, speaks, blank, omitted } = replay;
  const step = steps[at];
  const text = step ? step.text : end.text;
  const body = useGreatestHeight(at);
  const repeats = differs === null || at < differs;
  const ended = step ? '' : `ended${end.flags.length ? `: ${end.flags.join(', ')}` : ''}`;
  return (
    <section className="mosaic-lane" aria-label={`replay of ${label}`}>
      <div className="mosaic-tile-head mosaic-lane-head">
        <Swatch color={color} />
        <span className="mosaic-title" title={label}>
          {label}
        </span>
        {replay.continues && (
          <Button
            title={
              repeats
                ? 'Compare what each operator would do from this step on'
                : 'The environment does not repeat the episode up to this step'
            }
            disabled={!step || !repeats}
            onClick={continueHere}
          >
            Continue from here
          </Button>
        )}
      </div>
      <div className="mosaic-operators">
        <span className={`mosaic-chip${differs === null ? '' : ' mosaic-warning'}`} title={verdict}>
          {differs !== null && repeats ? `differs from step ${differs} on` : verdict}
        </span>
        {[ended, note].filter(Boolean).map(text => (
          <span key={text} className="mosaic-chip">
            {text}
          </span>
        ))}
      </div>
      <div className="mosaic-lane-body" {...body}>
        {film && film.byteLength > 0 ? (
          <Film film={film} replay={replay} at={step ? at : at + omitted} toggle={toggle} />
        ) : (
          <div className="mosaic-notice mosaic-info">{blank}</div>
        )}
        <Facts facts={step ? step.facts : end.facts} />
        <Moves lane={{ moves: step?.moves ?? [], more: step?.more ?? 0, several, speaks }} />
        {text && (
          <Collapsible title="Observation" open>
            <pre className="mosaic-replay-text">{text}</pre>
          </Collapsible>
        )}
        {speaks && (
          <Collapsible title="Prompt and answer" className="mosaic-exchange" open>
            {step?.calls.map((call, i) => (
              <Call key={i} exchange={call} name={`call ${i + 1} of ${call.agent}`} />
            ))}
          </Collapsible>
        )}
        {omitted > 0 && at >= steps.length && (
          <CollapsibleText
            title="Further steps"
            text={`${omitted} further steps are not in the player; replay.table() has them.`}
          />
        )}
      </div>
    </section>
  );
}

/** An element's greatest height over the steps at its present width, so that what is below it does not jump. */
function useGreatestHeight(step: number) {
  const node = useRef<HTMLDivElement>(null);
  const width = useRef(0);
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight } = node.current as HTMLDivElement;
    const isSame = offsetWidth === width.current;
    width.current = offsetWidth;
    setHeight(greatest => (isSame ? Math.max(greatest, offsetHeight) : 0));
  }, [step]);
  const onClick = ({ target }: MouseEvent<HTMLElement>) => {
    if ((target as HTMLElement).closest('summary')) setHeight(0); // a part is expanded or collapsed
  };
  return { ref: node, style: { minHeight: height }, onClick };
}

/** The picture of a state: the film at its moment. */
function Film({ film, replay, at, toggle }: Omit<CardProps, 'continueHere'> & { film: DataView }) {
  const video = useRef<HTMLVideoElement>(null);
  const source = useMemo(
    () => URL.createObjectURL(new Blob([film as DataView<ArrayBuffer>], { type: 'video/mp4' })),
    [film]
  );
  useEffect(() => () => URL.revokeObjectURL(source), [source]);
  const moment = momentOf(frameOf(replay.pictured, at), replay.fps);
  const target = useRef(moment);
  target.current = moment;
  const seek = useCallback(() => {
    const node = video.current;
    if (node && !node.seeking && Math.abs(node.currentTime - target.current) > 1e-3) {
      node.currentTime = target.current;
    }
  }, []);
  useEffect(seek, [seek, moment]);
  return (
    <video
      ref={video}
      className="mosaic-replay-film"
      src={source}
      muted
      playsInline
      preload="auto"
      aria-label={`state after ${at} steps`}
      onLoadedData={seek}
      onSeeked={seek}
      onClick={toggle}
    />
  );
}

export default view(Player, 'mosaic-panel', 'mosaic-comparison', 'mosaic-replay');
