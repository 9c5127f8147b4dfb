/** Answers of a run store as React state. */

import { useEffect, useRef, useState } from 'react';
import type { Answer, Method, Methods } from '../shared/run-api.ts';
import type { RunSource } from '../shared/run-source.ts';
import { messageOf } from '../shared/transport.ts';

const RETRY_MS = 5000;

interface Asked<M extends Method> {
  /** The latest answer; null before the first. */
  readonly answer: Answer<M> | null;
  /** Why there is no newer one; empty if there is no problem. */
  readonly problem: string;
  /** Whether these belong to the current parameters. */
  readonly current: boolean;
}

/**
 * The answer to a request, sent when its parameters or `version` change, `pause(result)` milliseconds after an answer
 * (null: not again), and after a failure. Without parameters nothing is sent.
 */
export function useAnswer<M extends Method>(
  source: RunSource,
  method: M,
  params: Methods[M][0] | null,
  pause: (result: Methods[M][1]) => number | null,
  version = ''
): Asked<M> {
  const key = JSON.stringify(params);
  const [asked, setAsked] = useState({ key: '', answer: null as Answer<M> | null, problem: '' });
  const latestPause = useRef(pause);
  latestPause.current = pause;
  useEffect(() => {
    if (params === null) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      let wait: number | null = RETRY_MS;
      try {
        const answer = await source.call(method, params);
        if (ended) return;
        setAsked({ key, answer, problem: '' });
        wait = latestPause.current(answer.result);
      } catch (reason) {
        if (ended) return;
        const problem = messageOf(reason);
        setAsked(before => ({ key, answer: before.key === key ? before.answer : null, problem }));
      }
      if (wait !== null) timer = setTimeout(ask, wait);
    };
    void ask();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [source, method, key, version]);
  return { answer: asked.answer, problem: asked.problem, current: asked.key === key };
}

/** The previous object while the value is equal. */
export function useSame<Value>(value: Value, same: (before: Value, now: Value) => boolean): Value {
  const kept = useRef(value);
  if (!same(kept.current, value)) kept.current = value;
  return kept.current;
}
