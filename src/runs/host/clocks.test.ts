import { execFileSync } from "node:child_process";
import { buildSync } from "esbuild";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RunClocks, startClocks, type Timers } from "./clocks.ts";

/** Creates a virtual clock that only the test advances. Timers fire as it advances. */
function createTime() {
  let now = 1_000;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  const own: Timers = {
    set(action, milliseconds) {
      const timer = { at: now + milliseconds, action };
      timers.push(timer);
      return timer;
    },
    clear(handle) {
      timers = timers.filter((timer) => timer !== handle);
    },
  };
  function fire(until: number): void {
    for (;;) {
      const next = timers.filter(({ at }) => at <= until).sort((left, right) => left.at - right.at)[0];
      if (!next) return;
      own.clear(next);
      now = Math.max(now, next.at);
      next.action();
    }
  }
  return {
    clock: { monotonic: () => now },
    timers: own,
    pending: () => timers.length,
    pass(milliseconds: number) {
      const until = now + milliseconds;
      fire(until);
      now = until;
    },
    /** Advances the clock without firing timers, as when the machine sleeps. */
    sleep(milliseconds: number) {
      now += milliseconds;
    },
    /** Fires the next timer too early. */
    fireEarly() {
      const [next] = timers;
      if (!next) throw new Error("no timer");
      own.clear(next);
      next.action();
    },
  };
}

function start(limits: { readonly idleMs: number; readonly wallMs?: number }) {
  const time = createTime();
  const struck: string[] = [];
  const { clock, timers } = time;
  const clocks = startClocks({
    ...limits,
    clock,
    timers,
    onIdle: () => struck.push("idle"),
    onWall: () => struck.push("wall") === 0,
  });
  return { time, clocks, struck };
}

describe("the wall clock, if the run continues after the limit", () => {
  it("fires once, and the idle clock keeps running", () => {
    const time = createTime();
    const struck: string[] = [];
    const { clock, timers } = time;
    const onWall = () => struck.push("wall") > 0;
    const clocks = startClocks({
      idleMs: 5_000,
      wallMs: 2_000,
      clock,
      timers,
      onIdle: () => struck.push("idle"),
      onWall,
    });
    clocks.modelAsked();
    time.pass(4_000);
    expect(struck).toEqual(["wall"]);
    clocks.modelMoved();
    time.pass(4_000);
    expect(struck).toEqual(["wall"]);
    time.pass(2_000);
    expect(struck).toEqual(["wall", "idle"]);
    expect(time.pending()).toBe(0);
  });
});

describe("the idle clock", () => {
  it("fires once when the model is silent for too long, and leaves no timer", () => {
    const { time, clocks, struck } = start({ idleMs: 300_000 });
    clocks.modelAsked();
    time.pass(200_000);
    clocks.modelMoved();
    time.pass(299_999);
    expect(struck).toEqual([]);
    time.pass(1);
    expect(struck).toEqual(["idle"]);
    clocks.modelMoved();
    clocks.modelAsked();
    time.pass(1_000_000);
    expect([struck, time.pending()]).toEqual([["idle"], 0]);
  });

  it("does not run between requests, whatever tools do", () => {
    const { time, clocks, struck } = start({ idleMs: 1_000 });
    time.pass(5_000);
    clocks.modelAsked();
    time.pass(900);
    clocks.modelEnded();
    clocks.modelMoved();
    time.pass(600_000);
    clocks.modelAsked();
    time.pass(999);
    expect(struck).toEqual([]);
    time.pass(1);
    expect(struck).toEqual(["idle"]);
  });

  it("does not advance while it is paused", () => {
    const { time, clocks, struck } = start({ idleMs: 1_000, wallMs: 2_000 });
    clocks.modelAsked();
    time.pass(600);
    const [one, two] = [clocks.pause(), clocks.pause()];
    time.pass(10_000);
    one();
    one();
    time.pass(10_000);
    expect([struck, time.pending()]).toEqual([[], 0]);
    two();
    time.pass(399);
    expect(struck).toEqual([]);
    time.pass(1);
    expect(struck).toEqual(["idle"]);
  });

  it("needs only one timer, no matter how often the model sends something", () => {
    const { time, clocks, struck } = start({ idleMs: 5_000 });
    clocks.modelAsked();
    for (let index = 0; index < 1_000; index += 1) {
      time.pass(10);
      clocks.modelMoved();
      expect(time.pending()).toBe(1);
    }
    expect(struck).toEqual([]);
  });
});

describe("the wall clock", () => {
  it("counts active time, including tools, and fires once", () => {
    const { time, clocks, struck } = start({ idleMs: 1_000, wallMs: 2_000 });
    clocks.modelAsked();
    time.pass(500);
    clocks.modelEnded();
    time.pass(1_000);
    const resume = clocks.pause();
    time.pass(100_000);
    resume();
    time.pass(499);
    expect(struck).toEqual([]);
    time.pass(1);
    expect([struck, time.pending()]).toEqual([["wall"], 0]);
  });

  it("does not fire immediately if its limit is beyond the longest timer", () => {
    const { time, struck } = start({ idleMs: 1_000, wallMs: 40 * 24 * 3_600_000 });
    time.pass(3_600_000);
    expect(struck).toEqual([]);
  });

  it("ends with the run", () => {
    const { time, clocks, struck } = start({ idleMs: 1_000, wallMs: 2_000 });
    const resume = clocks.pause();
    clocks.modelAsked();
    clocks.end();
    resume();
    clocks.modelAsked();
    time.pass(10_000);
    expect([struck, time.pending()]).toEqual([[], 0]);
  });
});

describe("both clocks", () => {
  it("wait again after a timer that fired early", () => {
    const { time, clocks, struck } = start({ idleMs: 1_000 });
    clocks.modelAsked();
    time.pass(990);
    time.fireEarly();
    expect([struck, time.pending()]).toEqual([[], 1]);
    time.pass(10);
    expect(struck).toEqual(["idle"]);
  });

  it("do not count the time during which the machine was asleep", () => {
    const { time, clocks, struck } = start({ idleMs: 300_000, wallMs: 400_000 });
    clocks.modelAsked();
    time.pass(100_000);
    time.sleep(3 * 3_600_000);
    time.pass(180_000);
    clocks.modelMoved();
    expect(struck).toEqual([]);
    time.pass(90_000);
    expect(struck).toEqual([]);
    time.pass(30_000);
    expect(struck).toEqual(["wall"]);
  });

  it("leave just enough time to read input that arrived during a long sleep", () => {
    const asked = (): ReturnType<typeof start> => {
      const all = start({ idleMs: 10_000 });
      all.clocks.modelAsked();
      all.time.sleep(60_000);
      all.time.pass(0);
      expect(all.struck).toEqual([]);
      return all;
    };
    const spoke = asked();
    spoke.clocks.modelMoved();
    spoke.time.pass(9_999);
    expect(spoke.struck).toEqual([]);
    const silent = asked();
    silent.time.sleep(60_000);
    silent.time.pass(0);
    expect(silent.struck).toEqual(["idle"]);
  });
});

type Step = number | "asked" | "moved" | "ended" | "pause" | "resume" | "end";
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 30_000 }) },
  fc.constantFrom<Step>("asked", "moved", "ended", "pause", "resume"),
  { weight: 1, arbitrary: fc.constantFrom<Step>("asked", "moved", "end") },
);
const limit = fc.integer({ min: 1, max: 60_000 });

/** A simple model of the clocks: returns which clock fires, and after how much time. */
function expected(steps: readonly Step[], idleMs: number, wallMs: number): readonly [string, number] | undefined {
  let [now, active, pauses] = [0, 0, 0];
  let quietSince: number | undefined;
  for (const each of steps) {
    if (each === "end") return undefined;
    if (each === "asked") quietSince = active;
    if (each === "moved" && quietSince !== undefined) quietSince = active;
    if (each === "ended") quietSince = undefined;
    if (each === "pause") pauses += 1;
    if (each === "resume") pauses = Math.max(0, pauses - 1);
    if (typeof each !== "number") continue;
    if (pauses === 0) {
      const idleIn = quietSince === undefined ? Infinity : quietSince + idleMs - active;
      const wallIn = wallMs - active;
      const first = Math.min(idleIn, wallIn);
      if (first <= each) return [wallIn <= idleIn ? "wall" : "idle", now + first];
      active += each;
    }
    now += each;
  }
  return undefined;
}

function perform(clocks: RunClocks, pauses: (() => void)[], each: Exclude<Step, number>): void {
  if (each === "asked") clocks.modelAsked();
  if (each === "moved") clocks.modelMoved();
  if (each === "ended") clocks.modelEnded();
  if (each === "pause") pauses.push(clocks.pause());
  if (each === "resume") pauses.pop()?.();
  if (each === "end") clocks.end();
}

describe("any run", () => {
  it("is ended at most once, by the right clock at the right time", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), limit, fc.option(limit), (steps, idleMs, wall) => {
        const time = createTime();
        const begun = time.clock.monotonic();
        const struck: (readonly [string, number])[] = [];
        const strike = (name: string) => (): boolean => {
          struck.push([name, time.clock.monotonic() - begun]);
          return false;
        };
        const clocks = startClocks({
          idleMs,
          ...(wall === null ? {} : { wallMs: wall }),
          clock: time.clock,
          timers: time.timers,
          onIdle: strike("idle"),
          onWall: strike("wall"),
        });
        const pauses: (() => void)[] = [];
        for (const each of steps) {
          if (typeof each === "number") time.pass(each);
          else perform(clocks, pauses, each);
        }
        const wanted = expected(steps, idleMs, wall ?? Infinity);
        expect(struck).toEqual(wanted === undefined ? [] : [wanted]);
        clocks.end();
        expect(time.pending()).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a clock with real timers", () => {
  const clock = { monotonic: () => performance.now() };

  it("fires", async () => {
    const which = await new Promise<string>((resolve) => {
      // Something else, such as a run, must keep the process alive.
      const alive = setInterval(() => undefined, 1_000);
      const strike = (name: string) => (): boolean => {
        clearInterval(alive);
        resolve(name);
        return false;
      };
      startClocks({ idleMs: 5, wallMs: 60_000, clock, onIdle: strike("idle"), onWall: strike("wall") }).modelAsked();
    });
    expect(which).toBe("idle");
  });

  it("does not keep a process alive", () => {
    const contents = `
      import { startClocks } from "./clocks.ts";
      const never = () => console.log("struck");
      const clock = { monotonic: () => performance.now() };
      startClocks({ idleMs: 600_000, wallMs: 600_000, clock, onIdle: never, onWall: never }).modelAsked();
      console.log("over");`;
    const stdin = { contents, resolveDir: import.meta.dirname };
    const built = buildSync({ stdin, bundle: true, platform: "node", format: "esm", write: false });
    const words = ["--input-type=module", "-e", built.outputFiles[0]?.text ?? ""];
    expect(execFileSync(process.execPath, words, { encoding: "utf8", timeout: 15_000 })).toBe("over\n");
  });
});
