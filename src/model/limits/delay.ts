/** Waits; settles early when the signal is aborted. Never rejects. */
export type Delay = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const realDelay: Delay = (milliseconds, signal) =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
