/** The metrics of a workspace's runs. */

import { useEffect, useState } from 'react';
import type { RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { isOwn } from './state.ts';

/** Interval between requests while the runs have no metrics. */
const LOOK_MS = 3000;

/** The metrics of these runs; null while unknown. Requested again until a worker has reported one. */
export function useMetrics(
  source: RunSource,
  runs: readonly string[],
  known: boolean
): { metrics: readonly string[] | null; problem: string } {
  const [found, setFound] = useState<{ metrics: readonly string[] | null; problem: string }>({
    metrics: null,
    problem: ''
  });
  const key = runs.join();
  useEffect(() => {
    if (!known) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const { result } = await source.call('metrics', { runs });
        if (ended) return;
        setFound({ metrics: result.names, problem: '' });
        if (!result.names.some(isOwn)) timer = setTimeout(look, LOOK_MS);
      } catch (reason) {
        if (ended) return;
        setFound(before => ({
          ...before,
          problem: messageOf(reason)
        }));
        timer = setTimeout(look, 5000);
      }
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [source, key, known]);
  return found;
}
