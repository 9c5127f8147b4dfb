/** Answers of a run store as React state. */

import { useEffect, useRef, useState } from 'react';
import type { Answer, Method, Methods } from '../shared/run-api.ts';
import type { RunSource } from '../shared/run-source.ts';
import { messageOf, Unreachable } from '../shared/transport.ts';

const RETRY_MS = 5000;

interface Asked<M extends Method> {
  /** The latest answer, also one to former parameters; null before the first. */
  readonly latest: Answer<M> | null;
  /** The latest answer to the current parameters. */
  readonly answer: Answer<M> | null;
  /** Why there is no newer one; empty if there is no problem. */
  readonly problem: string;
  /** Whether the current parameters have been answered or refused. */
  readonly current: boolean;
}

/**
 * The answer to a request, sent when its parameters or `version` change, `pause(result)` milliseconds after an answer
 * (null: not again), and again while the run store cannot be reached. Without parameters nothing is sent; with
 * `settled` they are sent once they have not changed for so many milliseconds.
 */
export function useAnswer<M extends Method>(
  source: Pick<RunSource, 'call'>,
  method: M,
  params: Methods[M][0] | null,
  pause: (result: Methods[M][1]) => number | null,
  version = '',
  settled = 0
): Asked<M> {
  const key = JSON.stringify(params);
  const [asked, setAsked] = useState({ key: '', problem: '' });
  const [answered, setAnswered] = useState<{ key: string; answer: Answer<M> } | null>(null);
  const latestPause = useRef(pause);
  latestPause.current = pause;
  const requested = useRef({ source, key, sent: 0, known: 0 });
  Object.assign(requested.current, { source, key });
  useEffect(() => {
    if (params === null) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      let wait: number | null = null;
      const number = ++requested.current.sent;
      /** Whether the outcome is news: for a former version, too, until that of a later request is known. */
      const isNews = () => {
        const now = requested.current;
        if (now.source !== source || now.key !== key || number < now.known) return false;
        now.known = number;
        return true;
      };
      try {
        const answer = await source.call(method, params);
        if (!isNews()) return;
        setAnswered({ key, answer });
        setAsked({ key, problem: '' });
        wait = latestPause.current(answer.result);
      } catch (reason) {
        if (!isNews()) return;
        setAsked({ key, problem: messageOf(reason) });
        if (reason instanceof Unreachable) wait = RETRY_MS;
      }
      if (wait !== null && !ended) timer = setTimeout(ask, wait);
    };
    if (settled) timer = setTimeout(ask, settled);
    else void ask();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [source, method, key, version]);
  const current = asked.key === key;
  return {
    latest: answered?.answer ?? null,
    answer: answered?.key === key ? answered.answer : null,
    problem: current ? asked.problem : '',
    current
  };
}

/** The previous object while `key` is equal. */
export function useSame<Value>(value: Value, key: string | number | undefined): Value {
  const latest = useRef({ value, key });
  if (latest.current.key !== key) latest.current = { value, key };
  return latest.current.value;
}
