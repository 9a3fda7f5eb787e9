import { useEffect, useState } from "react";
import { asClientError } from "../state/server-store.ts";

/** Result of a request. Both properties are undefined before the first response. */
interface Loaded<Value> {
  readonly value?: Value | undefined;
  /** What happened and what to do. */
  readonly error?: string | undefined;
}

/**
 * Loads a value when the component is shown, and again when the function changes. The previous value is kept until the
 * new one arrives. Ignores responses that arrive too late.
 */
export function useLoaded<Value>(load: () => Promise<Value>): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({});
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setLoaded({ value }),
      (error: unknown) => isCurrent && setLoaded({ error: asClientError(error).detail }),
    );
    return () => {
      isCurrent = false;
    };
  }, [load]);
  return loaded;
}
