import type { Random } from "./work-script.ts";

/** Returns a generator of numbers in [0, 1) that depend only on the seed (xorshift32). */
export function seededRandom(seed: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4294967296;
  };
  // The first numbers of neighboring seeds are similar, so they are skipped.
  for (let round = 0; round < 8; round++) next();
  return next;
}
