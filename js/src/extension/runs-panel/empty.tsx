/** The panel's content if there is no run: the line of code to type. */

import { trans } from '../../views/translation.ts';

const TRAIN = [
  'lab.train(',
  '    "cleanrl",',
  '    algorithm="ppo",',
  '    env="CartPole-v1",',
  '    total_timesteps=50_000,',
  ')'
];

export interface EmptyProps {
  /** Whether any store is known. */
  readonly hasStore: boolean;
  readonly canAct: boolean;
  readonly searched: boolean;
  /** Opens the form of a new training; null without one. */
  readonly onNew: (() => void) | null;
}

export function Empty({ hasStore, canAct, searched, onNew }: EmptyProps) {
  if (!hasStore && !searched) {
    return <p className="mosaic-runs-empty">{trans.__('Looking for run stores …')}</p>;
  }
  const lines = canAct ? [] : ['import mosaic_lab as mosaic', '', 'lab = mosaic.Lab()', ''];
  return (
    <div className="mosaic-runs-empty">
      <p>
        <strong>{hasStore ? trans.__('No runs yet.') : trans.__('No run store yet.')}</strong>
      </p>
      <p>
        {canAct
          ? trans.__('The runs of this notebook’s lab are listed here. Start one in a cell:')
          : trans.__('Runs are listed here as soon as a notebook has a lab. Type in a cell:')}
      </p>
      <pre>{[...lines, ...TRAIN].join('\n')}</pre>
      {!canAct && (
        <p className="mosaic-runs-dim">
          {trans.__('If the kernel has no mosaic-lab yet, install it first:')}{' '}
          <code>%pip install mosaic-lab</code>
        </p>
      )}
      {onNew && (
        <button type="button" className="mosaic-runs-button mosaic-mod-text" onClick={onNew}>
          {trans.__('New training …')}
        </button>
      )}
    </div>
  );
}
