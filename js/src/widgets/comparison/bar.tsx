/** The tool bar of a comparison. Every action is a method of the comparison in the kernel. */

import { type RefObject, useLayoutEffect, useRef } from 'react';
import { Button, Icon, OWN_KEYS, Segments, Slider } from '../common/parts.tsx';
import { SIZES, type Size } from '../frames/settings.ts';
import { type Model, send } from '../host/anywidget.ts';
import { useTrait } from '../host/react.ts';
import type { ComparisonState, ComparisonTraits } from '../messages.ts';
import { nearestSpeed } from './card-text.ts';

const MAX_SEED = 2 ** 32 - 1;

/** A method of the comparison, with its arguments. */
export type CallComparison = (name: string, args?: object) => void;

interface BarProps {
  readonly model: Model<ComparisonTraits>;
  readonly state: ComparisonState;
  readonly call: CallComparison;
  /** Show a message for a while; none if it is empty. */
  readonly say: (text: string, error?: boolean) => void;
  readonly size: Size;
  readonly resize: (size: Size) => void;
}

export function Bar({ model, state, call, say, size, resize }: BarProps) {
  const { mode, can_step: canStep, seed } = state;
  const speed = useTrait(model, 'speed');
  const speeds = model.get('speeds');
  const field = useRef<HTMLInputElement>(null);
  const [closed, playing] = [mode === 'closed', mode === 'playing'];
  const title = model.get('title');

  const play = () => call('play', { speed: model.get('speed') });
  const setSpeed = (index: number) => {
    send(model, 'speed', speeds[index] ?? 0);
    if (playing) play();
  };
  const begin = () => {
    const { value = '' } = field.current ?? {};
    const valid = field.current?.checkValidity() ?? true;
    say(
      valid ? '' : `A seed is an integer from 0 to ${MAX_SEED}; the lanes are still on seed ${seed}.`,
      true
    );
    if (valid) call('reset', { seed: value === '' ? null : Number(value) });
  };
  return (
    <>
      <span className="mosaic-title" title={title}>
        {title}
      </span>
      <span className="mosaic-bar-group">
        <Button title="One step of every lane" disabled={closed || !canStep} onClick={() => call('step')}>
          Step all
        </Button>
        <Button
          title={playing ? 'Pause after the current step' : 'Step all lanes until all have finished'}
          disabled={closed || !(playing || canStep)}
          onClick={() => (playing ? call('pause') : play())}
        >
          <Icon name={playing ? 'pause' : 'play'} />
          {playing ? 'Pause' : 'Run'}
        </Button>
        <Button title="Start a new episode with the seed entered" disabled={closed} onClick={begin}>
          Reset
        </Button>
        <Button
          title="Start an episode on the next seed of the list"
          disabled={closed}
          onClick={() => call('next_seed')}
        >
          Next seed
        </Button>
        <Button title="Play the episodes so far again, step by step" onClick={() => call('replay')}>
          Replay
        </Button>
      </span>
      <Slider
        label="Speed"
        hint="Steps per second"
        value={nearestSpeed(speeds, speed)}
        text={speed ? `${speed}/s` : 'max'}
        slide={setSpeed}
        max={speeds.length - 1}
        step={1}
        aria-label="Steps per second"
        aria-valuetext={speed ? `${speed} steps per second` : 'as fast as possible'}
      />
      <Seeds state={state} field={field} begin={begin} call={call} />
      <Segments label="size" choices={SIZES} pressed={size} choose={resize} />
      <Button
        className="mosaic-stop"
        title="End all lanes and their processes; results and last frames stay"
        aria-label={closed ? 'Ended' : 'End comparison'}
        disabled={closed}
        onClick={() => call('stop')}
      >
        {closed ? 'Ended' : 'End'}
        <span hidden={closed}> comparison</span>
      </Button>
    </>
  );
}

interface SeedsProps {
  readonly state: ComparisonState;
  readonly field: RefObject<HTMLInputElement>;
  readonly begin: () => void;
  readonly call: CallComparison;
}

/** The field for a seed, and the seeds of the list. A typed seed stays until the lanes have another one. */
function Seeds({ state: { mode, seed, seeds }, field, begin, call }: SeedsProps) {
  const disabled = mode === 'closed';
  useLayoutEffect(() => {
    if (field.current) field.current.value = String(seed);
  }, [field, seed]);
  return (
    <span className="mosaic-bar-group">
      <label className="mosaic-smoothing">
        Seed
        <input
          ref={field}
          className="mosaic-number"
          type="number"
          min="0"
          max={MAX_SEED}
          step="1"
          title="Enter starts an episode on this seed"
          disabled={disabled}
          onKeyDown={event => event.key === 'Enter' && begin()}
          {...OWN_KEYS}
        />
      </label>
      <select
        className="mosaic-button"
        aria-label="Seeds of the list"
        title="Start an episode on a seed of the list"
        disabled={disabled}
        hidden={seeds.length < 2}
        value={seeds.includes(seed) ? seed : ''}
        onChange={({ currentTarget: { value } }) => value && call('reset', { seed: Number(value) })}
        {...OWN_KEYS}
      >
        <option value="">seeds</option>
        {seeds.map(number => (
          <option key={number}>{number}</option>
        ))}
      </select>
    </span>
  );
}
