import { runInNewContext } from "node:vm";

export interface PatternTest {
  readonly holds: boolean;
  readonly problem?: string;
}

/** What a sane pattern needs for a name is far below. */
const LIMIT_MS = 50;
const LONGEST_PATTERN = 1_000;
const LONGEST_NAME = 500;
const MOST_REMEMBERED = 5_000;

/**
 * Whether a regular expression matches the whole name. It runs where it can be broken off: some patterns take longer than
 * anybody lives. One that can't be used holds, with the reason.
 */
export function testPattern(pattern: string, name: string): PatternTest {
  const key = `${pattern}\n${name}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const tested = test(pattern, name);
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(key, tested);
  return tested;
}

/** The answer depends on nothing else. */
const remembered = new Map<string, PatternTest>();

function test(pattern: string, name: string): PatternTest {
  if (pattern.length > LONGEST_PATTERN || name.length > LONGEST_NAME)
    return { holds: true, problem: "is too long to be tested, so it counts as a match. Write a shorter one." };
  const expression = compile(pattern);
  if (expression === undefined)
    return {
      holds: true,
      problem: `(${pattern}) is no regular expression, so the hook runs for everything. Write names ("Edit|Write") or a valid expression ("mcp__.*").`,
    };
  try {
    const holds = runInNewContext("expression.test(name)", { expression, name }, { timeout: LIMIT_MS });
    return { holds: holds === true };
  } catch {
    return {
      holds: true,
      problem: `(${pattern}) takes too long, so it counts as a match. Write it without nested repetitions.`,
    };
  }
}

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${pattern})$`, "s");
  } catch {
    return undefined;
  }
}
