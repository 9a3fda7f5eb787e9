/** Milliseconds. `performance.now()` would do, but the first use of it loads a good deal more of Node. */
export function monotonic(): number {
  const time = hrtime();
  return time[0] * 1_000 + time[1] / 1_000_000;
}

// Asked for a hundred times by every agent: `process` itself is looked up by a call.
const { hrtime } = process;
