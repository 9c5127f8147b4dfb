/**
 * The exchanges with language models of one run: which are selected, a table of them, the prompt and the answer
 * of the chosen one, and amounts over steps. The page has a window of the rows; the kernel or Jupyter's server
 * searches a part of the recording for each request, and the search ends when the page requests no more.
 */

import '../workspace/workspace.css';
import './transcript.css';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { download } from '../../shared/download.ts';
import { integerText, milliseconds, number, share } from '../../shared/numbers.ts';
import type { Answer, ExchangePlace, ExchangeRow, Selection } from '../../shared/run-api.ts';
import type { RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { color } from '../charts/palette.ts';
import { Tool } from '../controls.tsx';
import { Menu } from '../menu.tsx';
import { trans } from '../translation.ts';
import { useAnswer } from '../use-answer.ts';
import { Call } from './call.tsx';
import { Means } from './means.tsx';
import { SelectionBar } from './selection-bar.tsx';

const ROW_PX = 26;
/** Rows of a request, and those between the beginnings of two requests' windows. */
const WINDOW = 160;
const STRIDE = 40;
const ALIVE_MS = 1500;
const NUMERIC = 'mosaic-numeric';

interface TranscriptProps {
  readonly source: RunSource;
  readonly run: string;
  readonly selection: Selection;
  readonly onSelection: (selection: Selection) => void;
  /** Called with the number of selected exchanges, once all were searched. */
  readonly onFound?: (found: number) => void;
  /** Shows the replay of an exchange's step. */
  readonly onReplay: (place: ExchangePlace) => void;
  /** A message about the replay. */
  readonly said?: string | undefined;
}

export function Transcript(props: TranscriptProps): ReactNode {
  const { source, run, selection, onSelection, onFound, onReplay, said } = props;
  const [first, setFirst] = useState(0);
  const [charts, setCharts] = useState(false);
  const [failure, setFailure] = useState('');
  const [chosen, setChosen] = useState<{ index: number; id: string } | null>(null);
  const { page, problem, complete, stopped, stop, go } = usePage(source, run, selection, first);
  const matches = page?.found ?? 0;
  const rowAt = (index: number) => page?.rows[index - page.first];
  const key = JSON.stringify(selection);
  useEffect(() => {
    setFirst(0);
    setChosen(null);
  }, [run, key]);
  useEffect(() => {
    if (complete) onFound?.(matches);
  }, [complete, matches, onFound]);
  const top = page?.first === 0 ? page.rows[0] : undefined;
  const displayed = chosen ?? (top ? { index: 0, id: top.id } : null);
  const choose = (index: number) => {
    const row = rowAt(index);
    if (row) setChosen({ index, id: row.id });
  };
  const save = async (format: 'jsonl' | 'csv' | 'json') => {
    setFailure('');
    try {
      const { result, buffers } = await source.call('exchange_file', { run, selection, format });
      if (buffers[0]) download(result.name, buffers[0], result.type);
    } catch (reason) {
      setFailure(messageOf(reason));
    }
  };
  return (
    <section className="mosaic-workspace mosaic-transcript" aria-label={trans.__('Transcript')}>
      <SelectionBar selection={selection} page={page} change={onSelection}>
        <Tool
          aria-pressed={charts}
          title={trans.__('Tokens, latency and cost over the steps of an episode')}
          onClick={() => setCharts(!charts)}
        >
          {trans.__('Charts')}
        </Tool>
        <Menu label={trans.__('Save …')} className="mosaic-menu-root mosaic-menu-right">
          {close =>
            (
              [
                ['jsonl', trans.__('JSON lines')],
                ['csv', 'CSV'],
                ['json', trans.__('Inspect log')]
              ] as const
            ).map(([format, text]) => (
              <button
                key={format}
                type="button"
                className="mosaic-item"
                onClick={() => {
                  close();
                  void save(format);
                }}
              >
                {text}
              </button>
            ))
          }
        </Menu>
      </SelectionBar>
      <p className="mosaic-transcript-state">
        <output>{page ? countText(page, complete) : problem || trans.__('Reading the recording …')}</output>
        {page && !complete && (
          <Tool onClick={stopped ? go : stop}>{stopped ? trans.__('Continue') : trans.__('Stop')}</Tool>
        )}
      </p>
      {[failure, page ? problem : '', said ?? ''].filter(Boolean).map(text => (
        <p key={text} className="mosaic-note" role="status">
          {text}
        </p>
      ))}
      {charts && page && (
        <Means
          source={source}
          run={run}
          selection={selection}
          operators={page.operators}
          version={`${matches} ${complete}`}
        />
      )}
      <div className="mosaic-transcript-parts">
        <Rows
          key={`${run} ${key}`}
          count={matches}
          rowAt={rowAt}
          operators={page?.operators ?? {}}
          chosen={displayed?.index ?? -1}
          choose={choose}
          onFirst={setFirst}
        />
        {displayed && (
          <Detail
            source={source}
            run={run}
            id={displayed.id}
            index={displayed.index}
            count={matches}
            go={choose}
            onReplay={onReplay}
          />
        )}
      </div>
    </section>
  );
}

/** A window of the selected exchanges; requested again until all are searched, and while the run is alive. */
function usePage(source: RunSource, run: string, selection: Selection, first: number) {
  const key = JSON.stringify([run, selection]);
  const [stopped, setStopped] = useState('');
  const isStopped = stopped === key;
  const latest = useRef(false);
  latest.current = isStopped;
  const isComplete = ({ indexed, searched }: Answer<'transcript'>['result']) => indexed >= 1 && searched >= 1;
  const { answer, problem } = useAnswer(
    source,
    'transcript',
    { run, selection, first, rows: WINDOW },
    result => (!isComplete(result) ? (latest.current ? null : 0) : result.alive ? ALIVE_MS : null),
    String(isStopped)
  );
  const cached = useRef<{ key: string; page?: Answer<'transcript'>['result'] }>({ key });
  if (answer) cached.current = { key, page: answer.result };
  const page = cached.current.key === key ? cached.current.page : undefined;
  return {
    page,
    problem,
    complete: page !== undefined && isComplete(page),
    stopped: isStopped,
    stop: useCallback(() => setStopped(key), [key]),
    go: useCallback(() => setStopped(''), [])
  };
}

function countText(page: Answer<'transcript'>['result'], complete: boolean): string {
  const { found, total, damaged, indexed, searched } = page;
  const count =
    found === total
      ? trans._n('%1 exchange', '%2 exchanges', total, integerText(total))
      : trans.__('%1 of %2 exchanges', integerText(found), integerText(total));
  return [
    count,
    complete
      ? ''
      : indexed < 1
        ? trans.__('%1 read', share(indexed))
        : trans.__('%1 searched', share(searched)),
    damaged ? trans._n('%1 damaged line', '%1 damaged lines', damaged) : ''
  ]
    .filter(Boolean)
    .join(' · ');
}

interface RowsProps {
  readonly count: number;
  readonly rowAt: (index: number) => ExchangeRow | undefined;
  readonly operators: Readonly<Record<string, number>>;
  readonly chosen: number;
  readonly choose: (index: number) => void;
  /** Called with the first row that is needed. */
  readonly onFirst: (index: number) => void;
}

function Rows({ count, rowAt, operators, chosen, choose, onFirst }: RowsProps): ReactNode {
  const scroll = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    scrollPaddingStart: ROW_PX,
    overscan: 8
  });
  const items = virtual.getVirtualItems();
  const first = Math.max(0, (Math.floor((items[0]?.index ?? 0) / STRIDE) - 1) * STRIDE);
  useEffect(() => onFirst(first), [first, onFirst]);
  useEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: 'auto' });
  }, [chosen, virtual]);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const press = (event: KeyboardEvent) => {
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(count - 1, chosen + by)));
  };
  const columns: [title: string, cell: (row: ExchangeRow, index: number) => ReactNode, className?: string][] =
    [
      [
        trans.__('Operator'),
        ({ operator }) => (
          <>
            <i className="mosaic-swatch" style={{ background: color(operators[operator] ?? 0) }} />
            {operator}
          </>
        )
      ],
      [trans.__('Seed'), ({ seed }) => seed ?? '–', NUMERIC],
      [trans.__('Episode'), ({ episode }) => episode, NUMERIC],
      [trans.__('Step'), ({ step }) => step, NUMERIC],
      [trans.__('Action'), ({ action }) => action ?? '–'],
      [
        trans.__('Answer'),
        ({ answer, faults }, index) => (
          <button type="button" tabIndex={-1} title={answer} onClick={() => choose(index)}>
            {faults.map(fault => (
              <b key={fault}>{fault}</b>
            ))}
            {answer}
          </button>
        ),
        'mosaic-transcript-answer'
      ],
      [trans.__('Tokens'), ({ tokens }) => number(tokens), NUMERIC],
      [trans.__('Latency'), ({ latency_ms }) => milliseconds(latency_ms), NUMERIC],
      [trans.__('Cost'), ({ cost_usd }) => (cost_usd === null ? '–' : `$${number(cost_usd)}`), NUMERIC]
    ];
  return (
    <section
      ref={scroll}
      className="mosaic-charted-scroll mosaic-transcript-rows"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
      tabIndex={0}
      aria-label={trans.__('Exchanges')}
      onKeyDown={press}
      data-lm-suppress-shortcuts="true"
    >
      <table className="mosaic-charted" aria-rowcount={count + 1}>
        <thead>
          <tr>
            {columns.map(([title, , className]) => (
              <th key={title} scope="col" className={className === NUMERIC ? NUMERIC : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {items.map(({ index }) => {
            const row = rowAt(index);
            return (
              <tr key={index} aria-rowindex={index + 2} aria-selected={row && index === chosen}>
                {row ? (
                  columns.map(([title, cell, className]) => (
                    <td key={title} className={className}>
                      {cell(row, index)}
                    </td>
                  ))
                ) : (
                  <td colSpan={columns.length}>…</td>
                )}
              </tr>
            );
          })}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </section>
  );
}

interface DetailProps {
  readonly source: RunSource;
  readonly run: string;
  readonly id: string;
  readonly index: number;
  readonly count: number;
  readonly go: (index: number) => void;
  readonly onReplay: (place: ExchangePlace) => void;
}

/** The prompt and the answer of one exchange. */
function Detail({ source, run, id, index, count, go, onReplay }: DetailProps): ReactNode {
  const { latest, problem } = useAnswer(source, 'exchange', { run, id }, () => null);
  const exchange = latest?.result.place;
  const title = exchange
    ? trans.__('%1 · seed %2 · step %3', exchange.operator, exchange.seed ?? '–', exchange.step)
    : trans.__('Exchange');
  return (
    <section className="mosaic-transcript-detail" aria-label={trans.__('Prompt and answer')}>
      <header>
        <h3>{title}</h3>
        {(
          [
            [-1, '‹', trans.__('Previous exchange')],
            [1, '›', trans.__('Next exchange')]
          ] as const
        ).map(([by, text, name]) => (
          <button
            key={by}
            type="button"
            className="mosaic-tool"
            title={name}
            aria-label={name}
            disabled={index + by < 0 || index + by >= count}
            onClick={() => go(index + by)}
          >
            {text}
          </button>
        ))}
        <Tool
          disabled={!exchange}
          title={trans.__('Replay the episode, and show this step')}
          onClick={() => exchange && onReplay(exchange)}
        >
          {trans.__('Replay')}
        </Tool>
      </header>
      {problem && <p className="mosaic-note">{problem}</p>}
      {latest && <Call exchange={latest.result.call} name={title} />}
    </section>
  );
}
