import type { Clock } from "../../ports/index.ts";

/** The clocks of one run, outside of its loop. Once one of them has struck, both are over, unless the run goes on. */
export interface RunClocks {
  /** A request leaves: from here on the model must not be silent for too long. */
  modelAsked(): void;
  /** A byte came. */
  modelMoved(): void;
  /** The answer is complete, or failed: until the next request, tools have clocks of their own. */
  modelEnded(): void;
  /** A person, the rate limiter, a budget, a place or a foreground child is waited for: both clocks stand still until all who paused have called the result. */
  pause(): () => void;
  end(): void;
}

/** So that a test can turn time itself. */
export interface Timers {
  set(action: () => void, milliseconds: number): unknown;
  clear(handle: unknown): void;
}

export interface ClockOptions {
  readonly idleMs: number;
  /** Absent: no limit. */
  readonly wallMs?: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers?: Timers;
  readonly onIdle: () => void;
  /** True: the run goes on, and from here on only silence can end it. */
  readonly onWall: () => boolean;
}

/** No wait is longer than this, so that a machine that slept is noticed, and costs a run no more than this. */
const LONGEST_WAIT_MS = 10_000;
/** A tick this late means that nobody could listen: the machine slept, or the process was stuck. */
const LATE_MS = 1_000;
/** What came in meanwhile is read before anybody is called silent. */
const GRACE_MS = 50;

export function startClocks(options: ClockOptions): RunClocks {
  return new Clocks(options);
}

class Clocks implements RunClocks {
  private readonly options: ClockOptions;
  private readonly timers: Timers;
  private wallMs: number;
  /** Milliseconds that count, up to `countedAt`. All limits are measured in them. */
  private active = 0;
  private countedAt: number;
  private pauses = 0;
  /** When the model that is waited for was last heard of, in active time. */
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

  /** For every piece of an answer, so it leaves the timer alone: that finds out when it fires. */
  modelMoved(): void {
    if (this.quietSince === undefined) return;
    this.count();
    this.quietSince = this.active;
  }

  modelEnded(): void {
    this.quietSince = undefined;
  }

  /** Most pauses last a moment, so it leaves the timer alone too. */
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
    const goesOn = isLate || (this.strikeWall() && this.strikeIdle());
    if (goesOn) this.arm(isLate ? GRACE_MS : 0);
    else this.end();
  }

  /** Whether the run goes on. */
  private strikeWall(): boolean {
    if (this.active < this.wallMs) return true;
    this.wallMs = Number.POSITIVE_INFINITY;
    return this.options.onWall();
  }

  private strikeIdle(): boolean {
    const { idleMs, onIdle } = this.options;
    if (this.quietSince === undefined || this.active - this.quietSince < idleMs) return true;
    onIdle();
    return false;
  }
}

/** They don't keep the process alive. */
const quietTimers: Timers = {
  set: (action, milliseconds) => setTimeout(action, milliseconds).unref(),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout),
};
