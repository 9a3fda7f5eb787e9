import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mentionsIn } from "./mentions.ts";

const offered = ["Explore", "general-purpose", "agent-x", "tools:linter"];
const started = (text: string) => mentionsIn(text, offered).map(({ agentType, task }) => [agentType, task]);

describe("a mention", () => {
  it.each([
    ["@Explore find the router", [["Explore", "find the router"]]],
    ["  @Explore\nfind the router\n\nand its tests", [["Explore", "find the router\n\nand its tests"]]],
    ["I ran this command:\n\n$ ls\n\n@Explore find it", [["Explore", "find it"]]],
    ["@agent-explore find it", [["Explore", "find it"]]],
    ["@agent-general find it", [["general-purpose", "find it"]]],
    ["@agent-x find it", [["agent-x", "find it"]]],
    ["@tools:linter check it", [["tools:linter", "check it"]]],
    ["Let @agent-Explore find it.", [["Explore", "Let @agent-Explore find it."]]],
    [
      "Ask @agent-Explore, then @agent-general.",
      [
        ["Explore", "Ask @agent-Explore, then @agent-general."],
        ["general-purpose", "Ask @agent-Explore, then @agent-general."],
      ],
    ],
    ["@agent-Explore a\n\n@agent-Explore b", [["Explore", "a\n\n@agent-Explore b"]]],
    ["@agent-nobody find it", [["nobody", "find it"]]],
  ])("starts agents: %j", (text, expected) => expect(started(text)).toEqual(expected));

  it.each([
    "@Explore",
    "@explore find it",
    "@Explore/ find it",
    "@Explore.md summarize",
    "@./Explore summarize",
    "@src/Explore summarize",
    "Let @Explore find it",
    "class A {\n  @Explore()\n}",
    "mail me@agent-Explore now",
    "install @types/node",
    "@agent- find it",
    "",
  ])("starts no agent: %j", (text) => expect(started(text)).toEqual([]));

  it("starts each agent at most once, with a task, in linear time", () => {
    const part = fc.constantFrom("@Explore", "@agent-Explore", "@", "agent-", " ", "\n\n", "x", ".", "/", "é");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const found = mentionsIn(parts.join(""), offered);
        expect(new Set(found.map(({ agentType }) => agentType)).size).toBe(found.length);
        for (const { task } of found) expect(task.trim()).not.toBe("");
      }),
    );
    const long = [" ".repeat(200_000), "@".repeat(200_000), `@${"a.".repeat(100_000)}`, "\n ".repeat(100_000)];
    const before = performance.now();
    for (const text of long) mentionsIn(`${text}!`, offered);
    expect(performance.now() - before).toBeLessThan(2_000);
  });
});
