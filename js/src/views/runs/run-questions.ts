/** Questions to the user before runs are changed, as texts. A `RunDialogs` shows them. */

import { trans } from '../translation.ts';
import { nameOf, type Target } from './targets.ts';

const MAX_NAMED = 8;

export interface TextQuestion {
  readonly title: string;
  readonly label: string;
  /** The initial text. */
  readonly text: string;
  readonly accept: string;
  /** Whether the text may have several lines. */
  readonly long?: boolean;
}

export interface Confirmation {
  readonly title: string;
  readonly about: string;
  /** The affected items, one per line. */
  readonly names: readonly string[];
  /** Further consequences, shown below the names; "" for none. */
  readonly warning: string;
  readonly accept: string;
  /** An additional option, initially selected; "" for none. */
  readonly choice: string;
}

/** Names of runs enter the page as text only. */
export interface RunDialogs {
  /** The entered text; null if the dialog was cancelled. */
  text(question: TextQuestion): Promise<string | null>;
  confirm(question: Confirmation): Promise<{ readonly accepted: boolean; readonly checked: boolean }>;
  /** Show a confirmation for a short time. */
  notify(text: string): void;
}

export function nameQuestion(target: Target): TextQuestion {
  return {
    title: trans.__('Rename run'),
    label: trans.__('Name (empty: the default one)'),
    text: nameOf(target),
    accept: trans.__('Rename')
  };
}

/** For one run, all its tags; for several, the tags to add. */
export function tagsQuestion(targets: readonly Target[]): TextQuestion {
  const [only] = targets.length === 1 ? targets : [];
  return {
    title: only ? trans.__('Tags') : trans.__('Add tags to %1 runs', targets.length),
    label: trans.__('Separated by commas'),
    text: only?.row?.tags.join(', ') ?? '',
    accept: trans.__('Save')
  };
}

export function tagsOf(text: string): string[] {
  const tags = text.split(',').map(tag => tag.trim());
  return [...new Set(tags.filter(Boolean))];
}

export function notesQuestion(target: Target): TextQuestion {
  return {
    title: trans.__('Notes'),
    label: trans.__('Notes on %1', nameOf(target)),
    text: target.row?.notes ?? '',
    accept: trans.__('Save'),
    long: true
  };
}

/**
 * Whether to remove runs, and with them the `trials` or stages of sweeps and curricula among them.
 * `continuations`: number of other runs that continue from their checkpoints.
 */
export function removalQuestion(
  targets: readonly Target[],
  trials: number,
  continuations: number
): Confirmation {
  const names = targets.slice(0, MAX_NAMED).map(nameOf);
  const more = targets.length - names.length;
  return {
    title: trans._n('Remove a run?', 'Remove %1 runs?', targets.length),
    about: trans._n(
      'This deletes the folder of a run with its metrics, checkpoints and films:',
      'This deletes the folders of %1 runs with their metrics, checkpoints and films:',
      targets.length
    ),
    names: more ? [...names, trans.__('and %1 more', more)] : names,
    warning: continuations
      ? trans._n(
          'Another run continues from one of these checkpoints. It is kept, but can no longer be reproduced from there.',
          '%1 other runs continue from these checkpoints. They are kept, but can no longer be reproduced from there.',
          continuations
        )
      : '',
    accept: trans.__('Remove'),
    choice: trials ? trans._n('Also remove its %1 run', 'Also remove its %1 runs', trials) : ''
  };
}
