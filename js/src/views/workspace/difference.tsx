/** The differences between two runs: configuration, hyperparameters, code, packages, machine, results. */

import { type ReactNode, useMemo, useState } from 'react';
import { Check, Select } from '../controls.tsx';
import { trans } from '../translation.ts';
import { useAnswer } from '../use-answer.ts';
import type { Contents } from './contents.ts';
import { choiceNames, pairOf, shownSections } from './difference-rows.ts';

const AGAIN_MS = 10_000;

export function DifferenceView({ source, names, colorOf, state, change, ...rest }: Contents): ReactNode {
  const rows = rest.rows.filter(({ kind }) => kind !== 'comparison');
  const ids = rows.map(({ id }) => id);
  const pair = pairOf(state.pair, ids);
  const states = rows.filter(({ id }) => pair?.includes(id)).map(({ id, state }) => `${id} ${state}`);
  const alive = rows.some(row => row.alive && pair?.includes(row.id));
  const asked = useAnswer(
    source,
    'difference',
    pair && { runs: pair },
    () => (alive ? AGAIN_MS : null),
    `${states} ${alive}`
  );
  const result = asked.answer?.result ?? null;
  const { problem } = asked;
  const [all, setAll] = useState(false);
  const [search, setSearch] = useState('');
  const sections = useMemo(() => shownSections(result?.sections ?? [], all, search), [result, all, search]);
  if (pair === null) return <p className="mosaic-empty">{trans.__('Choose two runs to compare.')}</p>;
  const called = choiceNames(rows, names);
  const choice = (index: 0 | 1) => (
    <Select
      aria-label={index === 0 ? trans.__('First run') : trans.__('Second run')}
      value={pair[index]}
      options={ids.map((id, index) => [id, called[index] ?? id])}
      choose={chosen => {
        const other = pair[1 - index] === chosen ? pair[index] : (pair[1 - index] ?? chosen);
        change({ pair: index === 0 ? [chosen, other] : [other, chosen] });
      }}
    />
  );
  return (
    <section className="mosaic-difference" aria-label={trans.__('Difference of two runs')}>
      <div className="mosaic-settings">
        <Check className="mosaic-field" checked={all} change={setAll}>
          {trans.__('Show equal values too')}
        </Check>
        <input
          className="mosaic-input"
          type="search"
          placeholder={trans.__('Search')}
          aria-label={trans.__('Search the differences')}
          value={search}
          onChange={event => setSearch(event.target.value)}
        />
      </div>
      {problem && (
        <p className="mosaic-note" role="status">
          {problem}
        </p>
      )}
      <table aria-busy={result === null && !problem}>
        <thead>
          <tr>
            <td />
            {([0, 1] as const).map(index => (
              <th key={index} scope="col">
                <i style={{ background: colorOf(pair[index]) }} />
                {choice(index)}
                <small className="mosaic-chosen" aria-hidden="true">
                  {called[ids.indexOf(pair[index])]}
                </small>
              </th>
            ))}
          </tr>
        </thead>
        {sections.map(({ title, rows, same, differ }) => (
          <tbody key={title}>
            <tr>
              <th colSpan={3} scope="rowgroup">
                {title}
                <span className="mosaic-dim">
                  {differ === 0
                    ? trans.__('nothing differs')
                    : trans._n('%1 difference', '%1 differences', differ)}
                  {same > 0 && `, ${trans._n('%1 the same', '%1 the same', same)}`}
                </span>
              </th>
            </tr>
            {rows.map(({ name, values, same }) => (
              <tr key={name} className={same ? undefined : 'mosaic-differs'}>
                <th scope="row">
                  {breakable(name)}
                  {!same && <span className="mosaic-unseen">{trans.__('differs')}</span>}
                </th>
                {values.map((value, index) => (
                  <td key={index}>{value || <span className="mosaic-dim">–</span>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

/** A name that may break after punctuation if it is too long for its column. */
function breakable(name: string): ReactNode {
  return name.split(/(?<=[./_])/).reduce<ReactNode>(
    (before, part) => (
      <>
        {before}
        <wbr />
        {part}
      </>
    ),
    null
  );
}
