/** Time during which a message is not repeated. */
const QUIET_MS = 60_000;

/** Returns a function that reports messages, but no message twice within a minute. */
export function withoutRepeats(report: (message: string) => void, monotonic: () => number): (message: string) => void {
  const reported = new Map<string, number>();
  return (message) => {
    const now = monotonic();
    for (const [each, at] of reported) if (now - at >= QUIET_MS) reported.delete(each);
    if (reported.has(message)) return;
    reported.set(message, now);
    report(message);
  };
}
