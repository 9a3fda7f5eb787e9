import type { Clock } from "../ports/index.ts";

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
