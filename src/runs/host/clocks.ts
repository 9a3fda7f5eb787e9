import type { Clock } from "../../ports/index.ts";

/**
 * Clocks that watch the time limits of one run, outside its loop. When a limit is reached, both clocks stop, unless the
 * run continues.
 */
export interface RunClocks {
  /** Called when a request is sent. From then on, the time without output is limited. */
  modelAsked(): void;
  /** Called when part of a response arrives. */
  modelMoved(): void;
  /**
   * Called when the response is complete or has failed. Until the next request, only the tools' own time limits apply.
   */
  modelEnded(): void;
  /**
   * Pauses both clocks while the run waits for a user, the rate limiter, a budget, a slot or a subagent. The clocks
   * resume when every caller has called the returned function.
   */
  pause(): () => void;
  end(): void;
}

/** Timer functions, replaceable in tests. */
export interface Timers {
  set(action: () => void, milliseconds: number): unknown;
  clear(handle: unknown): void;
}

export interface ClockOptions {
  readonly idleMs: number;
  /** Limit on the run's active time. If absent, there is no limit. */
  readonly wallMs?: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers?: Timers;
  readonly onIdle: () => void;
  /**
   * Called when the limit on active time is reached. Returns true if the run continues; from then on, only the idle
   * limit can end it.
   */
  readonly onWall: () => boolean;
}

/**
 * Maximum length of a timer. If the machine is suspended, the timer fires late, and at most about this much of the
 * delay is charged to the run's limits.
 */
const LONGEST_WAIT_MS = 10_000;
/** Timer delay beyond which Retinue concludes that the machine was suspended or the process was blocked. */
const LATE_MS = 1_000;
/** After a late timer, time to read output that has already arrived, before the model is considered silent. */
const GRACE_MS = 50;

export function startClocks(options: ClockOptions): RunClocks {
  return new Clocks(options);
}

class Clocks implements RunClocks {
  private readonly options: ClockOptions;
  private readonly timers: Timers;
  private wallMs: number;
  /** Active milliseconds up to `countedAt`. All limits are measured in active time. */
  private active = 0;
  private countedAt: number;
  private pauses = 0;
  /** Active time at the last progress of the current request. Undefined if no request is in progress. */
  private quietSince: number | undefined;
  private tick: { readonly due: number; readonly handle: unknown } | undefined;
  private wasLate = false;
  private isOver = false;

  constructor(options: ClockOptions) {
    this.options = options;
    this.timers = options.timers ?? quietTimers;
    this.wallMs = options.wallMs ?? Number.POSITIVE_INFINITY;
    this.countedAt = options.clock.monotonic();
    this.arm();
  }

  modelAsked(): void {
    this.count();
    this.quietSince = this.active;
    this.arm();
  }

  /**
   * Records progress. This is called for every piece of a response, so it does not reset the timer, which checks the
   * time when it fires.
   */
  modelMoved(): void {
    if (this.quietSince === undefined) return;
    this.count();
    this.quietSince = this.active;
  }

  modelEnded(): void {
    this.quietSince = undefined;
  }

  /** Pauses the clocks. Like `modelMoved`, does not reset the timer, because most pauses are short. */
  pause(): () => void {
    this.count();
    this.pauses += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.count();
      this.pauses -= 1;
      this.arm();
    };
  }

  end(): void {
    this.isOver = true;
    this.disarm();
  }

  private count(): void {
    const now = this.options.clock.monotonic();
    const heard = this.tick ? Math.min(now, this.tick.due + LATE_MS) : now;
    if (this.pauses === 0) this.active += Math.max(0, heard - this.countedAt);
    this.countedAt = now;
  }

  private arm(leastMs = 0): void {
    if (this.isOver || this.pauses > 0) return;
    const idleAt = this.quietSince === undefined ? Number.POSITIVE_INFINITY : this.quietSince + this.options.idleMs;
    const leftMs = Math.min(idleAt, this.wallMs) - this.active;
    if (leftMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(leastMs, Math.min(leftMs, LONGEST_WAIT_MS));
    const due = this.countedAt + waitMs;
    if (this.tick && this.tick.due <= due) return;
    this.disarm();
    this.tick = { due, handle: this.timers.set(() => this.onTick(due), Math.ceil(waitMs)) };
  }

  private disarm(): void {
    if (this.tick) this.timers.clear(this.tick.handle);
    this.tick = undefined;
  }

  private onTick(due: number): void {
    this.count();
    this.tick = undefined;
    const isLate = this.countedAt - due > LATE_MS && !this.wasLate;
    this.wasLate = isLate;
    const continues = isLate || (this.checkWall() && this.checkIdle());
    if (continues) this.arm(isLate ? GRACE_MS : 0);
    else this.end();
  }

  /** Returns whether the run continues. */
  private checkWall(): boolean {
    if (this.active < this.wallMs) return true;
    this.wallMs = Number.POSITIVE_INFINITY;
    return this.options.onWall();
  }

  private checkIdle(): boolean {
    const { idleMs, onIdle } = this.options;
    if (this.quietSince === undefined || this.active - this.quietSince < idleMs) return true;
    onIdle();
    return false;
  }
}

/** Timers that don't keep the process alive. */
const quietTimers: Timers = {
  set: (action, milliseconds) => setTimeout(action, milliseconds).unref(),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
};
