import { describe, expect, it } from "vitest";
import { seedExample } from "../../bench/seed-example.ts";
import { introduction } from "./fork-place.ts";

describe("three forks of a conversation of 62,000 tokens", () => {
  it("cost no more new tokens than one conversation and three directives, and read the rest from the cache", async () => {
    const { parent, forks, bodies } = await seedExample();
    const [first, ...others] = forks;
    const shared = others[0]?.read ?? 0;
    const isAbout = (tokens: number, expected: number) => expect(Math.abs(tokens / expected - 1)).toBeLessThan(0.001);
    isAbout(parent.prompt, 60_000);
    isAbout(shared, 62_000);
    // The main agent's answer was output and is not in the cache yet. The first fork writes it to the cache, together
    // with the placeholders.
    expect(first?.read).toBe(parent.prompt);
    const directive = (first?.prompt ?? 0) - shared;
    isAbout(first?.written ?? 0, shared - parent.prompt + directive);
    for (const { read, written } of others) {
      expect(read).toBe(shared);
      expect(written).toBe(directive);
    }
    expect(directive).toBeGreaterThan(180);
    expect(directive).toBeLessThan(220);
    const anew = forks.reduce((sum, { written }) => sum + written, parent.written);
    isAbout(anew, 62_600);
    expect(Math.round((100 * (3 * 62_000 - anew)) / (3 * 62_000))).toBe(66);
    // All requests are identical up to the directives.
    const [one = "", ...rest] = bodies.map((body) => body.replaceAll(',"cache_control":{"type":"ephemeral"}', ""));
    const at = one.indexOf(introduction) + introduction.length;
    expect(at).toBeGreaterThan(4 * shared);
    for (const body of rest) expect(body.slice(0, at)).toBe(one.slice(0, at));
  });
});
