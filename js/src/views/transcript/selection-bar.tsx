/** The filters of a transcript: operator, fault, seed, lengths, and a searched text. */

import type { ReactNode } from 'react';
import { integerText } from '../../shared/numbers.ts';
import type { Answer, Selection } from '../../shared/run-api.ts';
import { Select } from '../controls.tsx';
import { trans } from '../translation.ts';
import { TypedRange } from '../typed-range.tsx';
import { useDebounced } from '../use-debounced.ts';

const TYPING_MS = 300;

interface SelectionBarProps {
  readonly selection: Selection;
  readonly page: Answer<'transcript'>['result'] | undefined;
  readonly change: (selection: Selection) => void;
  readonly children: ReactNode;
}

export function SelectionBar({ selection, page, change, children }: SelectionBarProps): ReactNode {
  const set = (part: Partial<Selection>) => change({ ...selection, ...part });
  const operators = [...new Set([...Object.keys(page?.operators ?? {}), selection.operator ?? ''])];
  const faults = page?.faults ?? {};
  const fields: [string, string][] = [
    ['any', trans.__('with a fault')],
    ['none', trans.__('without a fault')],
    ...Object.entries(faults).map(([name, count]): [string, string] => [
      name,
      `${name} (${integerText(count)})`
    ])
  ];
  const { fault } = selection;
  if (fault !== null && !fields.some(([name]) => name === fault)) fields.push([fault, fault]);
  return (
    <div className="mosaic-settings" role="toolbar" aria-label={trans.__('Filter exchanges')}>
      <Typed
        label={trans.__('Search prompts and answers')}
        type="search"
        value={selection.text}
        set={text => set({ text })}
      />
      <Select
        aria-label={trans.__('Operator')}
        value={selection.operator ?? ''}
        options={[
          ['', trans.__('all operators')],
          ...operators.filter(Boolean).map(name => [name, name] as const)
        ]}
        choose={operator => set({ operator: operator || null })}
        data-lm-suppress-shortcuts="true"
      />
      <Select
        aria-label={trans.__('Fault')}
        value={selection.fault ?? ''}
        options={[['', trans.__('all answers')], ...fields]}
        choose={fault => set({ fault: fault || null })}
        data-lm-suppress-shortcuts="true"
      />
      <Typed
        label={trans.__('Seed')}
        type="text"
        value={selection.seed === null ? '' : String(selection.seed)}
        set={text => set({ seed: /^\d+$/.test(text) ? Number(text) : null })}
      />
      {(['prompt', 'answer'] as const).map(part => (
        <span key={part} className="mosaic-field">
          <span>{part === 'prompt' ? trans.__('Prompt') : trans.__('Answer')}</span>
          <TypedRange
            limits={selection[part]}
            name={
              part === 'prompt' ? trans.__('Characters of the prompt') : trans.__('Characters of the answer')
            }
            hints={[trans.__('from'), trans.__('to')]}
            scale={null}
            onChange={limits => set({ [part]: limits })}
          />
        </span>
      ))}
      {children}
    </div>
  );
}

interface TypedProps {
  readonly label: string;
  readonly type: 'search' | 'text';
  readonly value: string;
  readonly set: (value: string) => void;
}

/** A text field whose value is applied when typing pauses. */
function Typed({ label, type, value, set }: TypedProps): ReactNode {
  const [text, setText] = useDebounced(value, set, TYPING_MS);
  return (
    <input
      className={`mosaic-input mosaic-transcript-${type}`}
      type={type}
      maxLength={1000}
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={event => setText(event.currentTarget.value)}
      data-lm-suppress-shortcuts="true"
    />
  );
}
