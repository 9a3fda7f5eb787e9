/** Limits the number of calls that run at the same time. Further calls wait in order. */
export class CallSlots {
  private free: number;
  private readonly waiting = new Set<(hasSlot: boolean) => void>();

  constructor(count: number) {
    this.free = count;
  }

  /** Resolves with true when the call may run, or with false if the signal aborts before that. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.free > 0) {
      this.free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const settle = (hasSlot: boolean): void => {
        signal.removeEventListener("abort", onAbort);
        this.waiting.delete(settle);
        resolve(hasSlot);
      };
      const onAbort = (): void => settle(false);
      signal.addEventListener("abort", onAbort);
      this.waiting.add(settle);
    });
  }

  leave(): void {
    const [next] = this.waiting;
    if (next) next(true);
    else this.free += 1;
  }
}
