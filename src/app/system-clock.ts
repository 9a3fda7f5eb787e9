import { monotonic } from "../lib/index.ts";
import type { Clock } from "../ports/index.ts";

export const systemClock: Clock = { now: () => Date.now(), monotonic };
