/** Actions on runs by their store's kernel, for JupyterLab's panel and for notebook cells. */

import { trans } from '../translation.ts';
import type { IconName } from './icons.tsx';
import type { Reason } from './reasons.ts';
import * as reasons from './reasons.ts';
import {
  nameQuestion,
  notesQuestion,
  type RunDialogs,
  removalQuestion,
  tagsOf,
  tagsQuestion
} from './run-questions.ts';
import type { RunTable } from './run-table.ts';
import { bySource, continuationsOf, type Target, trialsOf } from './targets.ts';

export interface Action {
  readonly label: string;
  readonly icon: IconName;
  readonly whyNot: Reason;
  /** Throws errors with messages for the user. */
  readonly run: (targets: readonly Target[]) => Promise<void> | void;
}

type Name = 'stop' | 'resume' | 'rename' | 'tag' | 'note' | 'remove' | 'copyId' | 'copyCode';

export function runActions(table: RunTable, dialogs: RunDialogs): Readonly<Record<Name, Action>> {
  return {
    stop: {
      label: trans.__('Stop'),
      icon: 'stop',
      whyNot: reasons.stop,
      run: async targets => {
        for (const [source, runs] of bySource(targets.filter(({ row }) => row?.alive !== false))) {
          await source.call('stop', { runs });
        }
      }
    },
    resume: {
      label: trans.__('Resume'),
      icon: 'resume',
      whyNot: reasons.resume,
      run: async targets => {
        for (const [source, runs] of bySource(targets)) await source.call('resume', { runs });
      }
    },
    rename: {
      label: trans.__('Rename …'),
      icon: 'rename',
      whyNot: reasons.annotateOne,
      run: async ([target]) => {
        const name = target ? await dialogs.text(nameQuestion(target)) : null;
        if (name !== null) await target?.source.call('annotate', { run: target.id, name: name.trim() });
      }
    },
    tag: {
      label: trans.__('Tag …'),
      icon: 'tag',
      whyNot: reasons.annotate,
      run: async targets => {
        const text = await dialogs.text(tagsQuestion(targets));
        for (const { source, id, row } of text === null ? [] : targets) {
          const ownTags = targets.length > 1 ? (row?.tags ?? []) : [];
          await source.call('annotate', { run: id, tags: [...new Set([...ownTags, ...tagsOf(text ?? '')])] });
        }
      }
    },
    note: {
      label: trans.__('Notes …'),
      icon: 'notes',
      whyNot: reasons.annotateOne,
      run: async ([target]) => {
        const notes = target ? await dialogs.text(notesQuestion(target)) : null;
        if (notes !== null) await target?.source.call('annotate', { run: target.id, notes });
      }
    },
    remove: {
      label: trans.__('Remove …'),
      icon: 'remove',
      whyNot: reasons.remove,
      run: async targets => {
        const [trials, continuations] = [trialsOf(targets, table), continuationsOf(targets, table)];
        const question = removalQuestion(targets, trials, continuations);
        const { accepted, checked } = await dialogs.confirm(question);
        for (const [source, runs] of accepted ? bySource(targets) : []) {
          await source.call('remove', { runs, trials: checked });
        }
      }
    },
    copyId: {
      label: trans.__('Copy id'),
      icon: 'copy',
      whyNot: reasons.some,
      run: targets => {
        copyText(targets.map(({ id }) => id).join('\n'));
        dialogs.notify(trans._n('Copied the id of a run', 'Copied the ids of %1 runs', targets.length));
      }
    },
    copyCode: {
      label: trans.__('Copy the code to run it again'),
      icon: 'code',
      whyNot: reasons.read,
      run: async targets => {
        const codes: string[] = [];
        for (const [source, runs] of bySource(targets)) {
          const { result } = await source.call('details', { runs });
          codes.push(...runs.flatMap(id => result.runs[id]?.code ?? []));
        }
        copyText(codes.join('\n\n'));
        dialogs.notify(trans._n('Copied the code of a run', 'Copied the code of %1 runs', targets.length));
      }
    }
  };
}

function copyText(text: string): void {
  const copy = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopPropagation();
  };
  document.addEventListener('copy', copy, { capture: true, once: true });
  document.execCommand('copy');
  document.removeEventListener('copy', copy, { capture: true });
}
