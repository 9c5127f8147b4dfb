import { useEffect, useRef, useState } from 'react';

/** The value of a field while it is edited, and its setter. `set` is called once the value has not changed for a while. */
export function useDebounced<Value>(value: Value, set: (value: Value) => void, milliseconds: number) {
  const [edited, setEdited] = useState(value);
  const latest = useRef(set);
  latest.current = set;
  useEffect(() => setEdited(value), [value]);
  useEffect(() => {
    if (edited === value) return;
    const timer = setTimeout(() => latest.current(edited), milliseconds);
    return () => clearTimeout(timer);
  }, [edited]);
  return [edited, setEdited] as const;
}
