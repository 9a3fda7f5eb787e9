import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session, SessionOptions } from "../../src/app/index.ts";
import type { Line, RunUpdate } from "../../src/protocol/index.ts";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";
import { messagesIn, one, type Part, type Stage, saying, stage, toolResults } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };
const done: Reply = { content: "Done." };
const summary: Reply = { content: "Goal: look." };

const open = (on: Stage, options: SessionOptions = {}): Promise<Session> =>
  on.open({ model: "claude-opus-5-5", trusted: false, ...options });

/** Performs a run and returns its lines. */
async function linesOf(
  run: AsyncIterable<RunUpdate> & { readonly result: Promise<unknown> },
): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for await (const update of run) if ("id" in update) lines.push(update);
  expect(await run.result).toMatchObject({ outcome: "succeeded" });
  return lines;
}

const ask = (session: Session, prompt: string) => linesOf(session.prompt(prompt));

const isCompaction = ({ rawBody }: RecordedRequest): boolean => rawBody.includes('"compaction":{"type":"summarize"');
const typesIn = (request: RecordedRequest | undefined): unknown[] =>
  messagesIn(one(request)).map(({ content }) => content.map(({ type }) => type));
const noticesIn = (lines: readonly Line[]): string[] =>
  lines.flatMap((line) => (line.type === "notice.raised" ? [line.message] : []));

function expectAccepted({ server }: Stage): void {
  expect(server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
}

/** Plays the main agent. Requests for a summary by the provider get other replies. */
const withSummaries = (provided: Reply, ...replies: readonly Reply[]): Part => {
  const others = saying(...replies);
  let count = 0;
  return (_, request) => {
    if (isCompaction(request)) return provided;
    count += 1;
    return others(count, request);
  };
};

describe("a provider that can summarize a conversation", () => {
  it("is asked to, and the turns that follow keep their thinking, also after a resume and a second summary", async () => {
    const on = await stage({
      MAIN: saying({ content: [read] }, done, summary, done, done, { content: "Goal: more." }, done),
    });
    const session = await open(on);
    await ask(session, "MAIN: look.");
    const [compacted] = (await linesOf(session.compact())).filter(({ type }) => type === "conversation.compacted");
    expect(compacted).toMatchObject({ summary: "Goal: look.", kept: 1, usage: { outputTokens: 3 } });
    await ask(session, "next");
    await session.close();
    const again = await open(on, { resume: session.id });
    await ask(again, "and next");
    expect(noticesIn(await linesOf(again.compact()))).toEqual([]);
    await ask(again, "last");
    await again.close();
    expectAccepted(on);
    const requests = on.requests("MAIN");
    expect(requests.filter(isCompaction)).toEqual([requests[2], requests[5]]);
    expect(typesIn(requests[2])).toEqual(typesIn(requests[1]));
    expect(typesIn(requests[3])).toEqual([["compaction"], ["thinking", "text"], ["text", "text", "text"]]);
    const [record] = messagesIn(one(requests[3])).at(-1)?.content ?? [];
    expect(record?.text).toMatch(/A summary replaced it\..*<first_request>.*MAIN: look\..*Permission mode/s);
    expect(record?.text).not.toContain("Goal:");
    expect(typesIn(requests[4])).toEqual([...typesIn(requests[3]), ["thinking", "text"], ["text"]]);
    expect(typesIn(requests[6])[0]).toEqual(["compaction"]);
    expect(JSON.stringify(messagesIn(one(requests[6])))).not.toContain("Goal: look.");
  });

  it("keeps the calls whose results the model has not seen", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [{ tool: "Read", input: { file_path: "a.txt" } }] },
        { content: ["Now b.", { tool: "Read", input: { file_path: "b.txt" } }] },
        summary,
        { content: [read] },
        done,
      ),
    });
    for (const name of ["a.txt", "b.txt"])
      writeFileSync(join(on.cwd, name), `${name.repeat(5)} is here.\n`.repeat(600));
    const providers = { anthropic: { window: 18_000, maxOutputTokens: 2000 } };
    const session = await open(on, { settings: { providers } });
    await ask(session, "MAIN: read.");
    await session.close();
    expectAccepted(on);
    const [, , , after, last] = on.requests("MAIN");
    expect(typesIn(after)).toEqual([["compaction"], ["thinking", "text", "tool_use"], ["tool_result", "text", "text"]]);
    expect(toolResults(after)[0]?.match(/(b\.txt){5} is here/g)).toHaveLength(600);
    expect(typesIn(last).at(-2)).toEqual(["thinking", "tool_use"]);
  });

  const text = { type: "message", content: [{ type: "text", text: "Hm." }], stop_reason: "end_turn", usage: {} };
  it.each([
    [
      "refuses",
      { status: 400, message: "compaction: Extra inputs are not permitted" },
      /Extra inputs .*The model wrote/,
    ],
    ["ignores it", { status: 200, body: JSON.stringify(text) }, /it wrote none.*The model wrote/],
  ])("is not asked again in this process if it %s, and the model writes the summary", async (_, how, notice) => {
    const status = { kind: "status", ...how } as const;
    const on = await stage({
      MAIN: withSummaries({ content: "", fault: status }, { content: [read] }, done, summary, done, summary, done),
    });
    const session = await open(on);
    await ask(session, "MAIN: look.");
    const first = await linesOf(session.compact());
    expect(noticesIn(first)).toEqual([expect.stringMatching(notice)]);
    await ask(session, "next");
    expect(noticesIn(await linesOf(session.compact()))).toEqual([]);
    await ask(session, "last");
    await session.close();
    expectAccepted(on);
    expect(on.requests("MAIN").filter(isCompaction)).toHaveLength(1);
    expect(typesIn(on.requests("MAIN").at(-1)).flat()).not.toContain("compaction");
  });

  it("is replaced by the model if it writes no summary", async () => {
    const on = await stage({
      MAIN: withSummaries({ content: "Go", stopReason: "max_tokens" }, { content: [read] }, done, summary, done),
    });
    const session = await open(on);
    await ask(session, "MAIN: look.");
    const lines = await linesOf(session.compact());
    expect(noticesIn(lines)).toEqual([expect.stringContaining("it wrote none")]);
    expect(lines.map(({ type }) => type)).toContain("spend.recorded");
    await ask(session, "next");
    await session.close();
    expectAccepted(on);
    expect(JSON.stringify(messagesIn(one(on.requests("MAIN").at(-1)))[0])).toContain("Goal: look.");
  });

  it("may refuse its summary later, which is then sent as text, without thinking", async () => {
    const on = await stage({ MAIN: saying({ content: [read] }, done, summary, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: look.");
    await linesOf(session.compact());
    await session.close();
    const path = session.transcriptPath ?? "";
    writeFileSync(
      path,
      readFileSync(path, "utf8").replace('Goal: look.\\",\\"signature', 'Goal: see.\\",\\"signature'),
    );
    const again = await open(on, { resume: session.id });
    const lines = await ask(again, "next");
    expect(noticesIn(lines)).toEqual([expect.stringContaining("refused the model's earlier thinking")]);
    await ask(again, "last");
    await again.close();
    expect(on.server.requests.map(({ status }) => status)).toEqual([200, 200, 200, 400, 200, 200]);
    expect(typesIn(on.requests("MAIN")[3])).toEqual([["text"], ["text"], ["text", "text", "text"]]);
    expect(JSON.stringify(messagesIn(one(on.requests("MAIN")[3]))[0])).toContain("Goal: see.");
  });

  it.each(["claude-haiku-4-5", "claude-fable-5-1"])("gives %s, which continues, its summary as text", async (model) => {
    const on = await stage({ MAIN: saying({ content: [read] }, done, summary, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: look.");
    await linesOf(session.compact());
    await session.setModel(model);
    await ask(session, "next");
    await session.close();
    expectAccepted(on);
    expect(typesIn(on.requests("MAIN").at(-1))).toEqual([["text"], ["text"], ["text", "text", "text"]]);
  });
});
