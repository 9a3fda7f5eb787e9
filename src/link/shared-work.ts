/**
 * Work that one request has begun and that later requests with the same id wait for. The work is aborted when any of
 * these requests is aborted.
 */
export class SharedWork<Result> {
  readonly result: Promise<Result>;
  private readonly abort = new AbortController();

  constructor(work: (signal: AbortSignal) => Promise<Result>) {
    this.result = work(this.abort.signal);
    // Every waiting request handles the rejection itself.
    this.result.catch(() => undefined);
  }

  async join(signal?: AbortSignal): Promise<Result> {
    const onAbort = (): void => this.abort.abort();
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort);
    try {
      return await this.result;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
