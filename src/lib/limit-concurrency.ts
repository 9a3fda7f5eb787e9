export interface Semaphore {
  /** Waits for a turn, in order; call the result once to give it back (further calls do nothing). Rejects with the signal's reason. */
  acquire(signal?: AbortSignal): Promise<() => void>;
  /** Runs the work when it is its turn. */
  run<T>(work: () => Promise<T> | T, signal?: AbortSignal): Promise<T>;
  readonly active: number;
  readonly waiting: number;
}

export function createSemaphore(limit: number): Semaphore {
  if (!(limit >= 1)) throw new RangeError(`A semaphore needs a limit of at least 1, not ${limit}.`);
  const queue = new Set<() => void>();
  let active = 0;

  function release(): void {
    const [next] = queue;
    if (!next) {
      active -= 1;
      return;
    }
    queue.delete(next);
    next();
  }

  function once(): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      release();
    };
  }

  async function acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (active < limit) {
      active += 1;
      return once();
    }
    return new Promise((resolve, reject) => {
      const onTurn = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve(once());
      };
      const onAbort = () => {
        queue.delete(onTurn);
        reject(signal?.reason);
      };
      queue.add(onTurn);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  return {
    acquire,
    async run(work, signal) {
      const done = await acquire(signal);
      try {
        return await work();
      } finally {
        done();
      }
    },
    get active() {
      return active;
    },
    get waiting() {
      return queue.size;
    },
  };
}
