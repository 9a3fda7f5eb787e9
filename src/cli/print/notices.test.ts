import { describe, expect, it } from "vitest";
import { fromAgent, line } from "../../client/view/agent-events.test-support.ts";
import type { DurableEvent, RunUpdate } from "../../protocol/index.ts";
import { createNotices, openingNotices } from "./notices.ts";

it("reports each sentence once, with the agent if the sentence does not name it", () => {
  const said: string[] = [];
  const { observe, wasReported } = createNotices("deny", (sentence) => said.push(sentence));
  const notice = (code: string, message: string): DurableEvent => ({ type: "notice.raised", code, message });
  const warning = notice("budget", "The session has used 80%.");
  observe(line(warning));
  observe(fromAgent(["a1"], warning));
  for (const id of ["a1", "a2"]) observe(fromAgent([id], notice("agent", "Its model is not there.")));
  observe(line({ type: "head.set", hash: "h" }));
  expect(said).toEqual(["The session has used 80%.", "Explore: Its model is not there."]);
  expect([wasReported("The session has used 80%."), wasReported("Another.")]).toEqual([true, false]);
});

describe("notices before the answer", () => {
  const trust = "This directory is not trusted, so Retinue ignores a.md; ./x.json. Trust it with --trust.";
  const offline = "No provider is configured: the offline model answers. Set ANTHROPIC_API_KEY.";
  const rule = 'settings.json:3: "Baash" names no tool. Did you mean "Bash"?';

  it("are combined into one line with their first sentences and a hint; mistakes in files keep their own lines", () => {
    expect(openingNotices([trust, rule, offline], { verbose: false })).toEqual([
      "This directory is not trusted, so Retinue ignores a.md; ./x.json. No provider is configured: the offline model answers. (Add --verbose to see what to do.)",
      rule,
    ]);
    expect(openingNotices([trust, rule], { verbose: false })).toEqual([trust, rule]);
  });

  it("are shown in full if there is only one, or with --verbose", () => {
    expect(openingNotices([], { verbose: false })).toEqual([]);
    expect(openingNotices([trust], { verbose: false })).toEqual([trust]);
    expect(openingNotices([trust, offline], { verbose: true })).toEqual([trust, offline]);
    expect(openingNotices(["One.", "Two."], { verbose: false })).toEqual(["One. Two."]);
  });
});

describe("approvals", () => {
  const line = { v: 1, id: "1", parentId: null, at: 0, requestId: "ask_1", callId: "c" } as const;
  const requested: RunUpdate = {
    ...line,
    type: "approval.requested",
    name: "Bash",
    inputJson: '{"command":"it\'s"}',
    reason: "No rule allows it.",
    always: ["Bash(it's)"],
  };
  const answered: RunUpdate = { ...line, type: "approval.answered", answer: "deny", by: "no approver" };
  const asks: RunUpdate = {
    ...requested,
    name: "AskUserQuestion",
    inputJson: '{"questions":[{"question":"npm or pnpm?"}]}',
  };
  const ofAgent = (event: RunUpdate): RunUpdate =>
    ({ type: "subagent.event", agentId: "a", agentType: "tester", path: ["a"], event }) as RunUpdate;

  it.each([
    ["deny", [requested, answered, requested, answered], [expect.stringContaining(`--allowed-tools 'Bash(it'\\''s)'`)]],
    ["wait", [requested], [expect.stringContaining("answer ask_1 allow|deny|always")]],
    [
      "wait",
      [{ ...requested, inputJson: JSON.stringify({ command: "ls # list\nrm -r \u202esrc" }) }],
      [expect.stringContaining("Bash ls # list↵rm -r \\u{202e}src is waiting for your answer.")],
    ],
    [
      "wait",
      [{ ...requested, inputJson: JSON.stringify({ command: "x".repeat(5_000) }) }],
      [
        expect.stringMatching(
          /^Bash x{3995} … \(1,005 more characters\) is waiting .*See the whole call.*approvals list$/,
        ),
      ],
    ],
    [
      "wait",
      [{ ...requested, name: "Write", inputJson: JSON.stringify({ file_path: "a", content: "b" }) }],
      [expect.stringMatching(/^Write a is waiting .*See its other inputs with: retinue approvals list\. Answer it/)],
    ],
    [
      "deny",
      [{ ...requested, always: ["Bash(a\nb)"] }, answered],
      [expect.stringMatching(/^Bash it's was denied: no approver is available\. To be asked, add --on-ask wait\.$/)],
    ],
    ["wait", [ofAgent(requested)], [expect.stringContaining("Bash it's from tester is waiting")]],
    [
      "wait",
      [ofAgent({ ...requested, attended: false }), ofAgent(answered)],
      [expect.stringMatching(/^Bash it's was denied: .*background\.approvals.* To allow it, add --allowed-tools/)],
    ],
    ["wait", [ofAgent(asks)], [expect.stringMatching(/^The agent tester asks: npm or pnpm\?.*reply ask_1 ANSWER$/)]],
    ["hook", [requested, answered], []],
  ] as const)("with --on-ask %s", (onAsk, updates, sentences) => {
    const reported: string[] = [];
    const notices = createNotices(onAsk, (sentence) => reported.push(sentence));
    for (const update of updates) notices.observe(update);
    expect(reported).toEqual(sentences);
  });
});
