/** Milliseconds. `performance.now()` would do, but the first use of it loads a good deal more of Node. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}
