import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import { FORK_INTRODUCTION } from "../../src/protocol/index.ts";
import {
  createApiServer,
  messagesOf,
  type RecordedRequest,
  type Reply,
  type ReplyPart,
  systemOf,
} from "../../src/testing/index.ts";
import { expectRecordedHeads } from "./check-heads.ts";
import { newPlace } from "./delegation-place.ts";
import { forkCall } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };
const readMuch = { tool: "Read", input: { file_path: "long.txt" } };
const judge = { description: "Judges. Use it to judge.", prompt: "You are a judge.", tools: ["Read"] };

/** Responses of the main agent to one prompt, before its last one. */
const responses: readonly (readonly ReplyPart[])[] = [
  [read],
  ["I read.", readMuch],
  [{ thinking: "Both." }, read, { thinking: "And again." }, read],
  [{ redactedThinking: "x" }, "Hm.", { thinking: "" }, { tool: "LS", input: { path: "." } }],
  [forkCall("ONE: a part"), forkCall("TWO: another part")],
  [read, forkCall("ONE: the newest part", { context_turns: 1 })],
  [forkCall("judge it", { subagent_type: "judge" })],
  [{ thinking: "Only thinking." }],
];
const wires = {
  anthropic: {
    provider: "anthropic",
    models: ["claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-5-5", "claude-haiku-4-5"],
    thinking: '"signature"',
  },
  responses: {
    provider: "openai",
    models: ["gpt-6.2-sol", "gpt-6-sol", "gpt-6.2-astra", "gpt-5.1"],
    thinking: '"type":"reasoning"',
  },
} as const;
type Wire = keyof typeof wires;
const model = fc.nat(3);

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("prompt" as const),
      replies: fc.array(fc.constantFrom(...responses), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rewind" as const), to: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("model" as const), model }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("agents" as const), exists: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("instructions" as const), text: fc.constantFrom("Tabs.", "") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("resume" as const),
      /** Whether the session is closed while the main agent works. */
      isParked: fc.boolean(),
      model,
      options: fc.record<SessionOptions>({
        effort: fc.constantFrom("low", "high"),
        trusted: fc.boolean(),
        disallowedTools: fc.constantFrom([], ["LS"]),
        systemPrompt: fc.constantFrom({ append: "Use sugar." }, { append: "Use salt." }),
        agents: fc.constantFrom({ judge: { ...judge, forkContext: true } }, { judge }),
      }),
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

it.each(["anthropic", "responses"] as const)(
  "whatever happens to a conversation, its head changes only for a recorded reason, and all thinking is accepted, %s",
  async (wire) => {
    let withThinking = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 12 }), async (actions) => {
        const requests = await perform(actions, wire);
        expect(requests.flatMap(({ refusal, unscripted }) => refusal ?? unscripted ?? [])).toEqual([]);
        withThinking += requests.filter(({ rawBody }) => rawBody.includes(wires[wire].thinking)).length;
      }),
      { numRuns: 25 },
    );
    expect(withThinking).toBeGreaterThan(50);
  },
);

/** Performs the actions in a new session. Returns all requests that its agents made. */
async function perform(actions: readonly Action[], wire: Wire): Promise<readonly RecordedRequest[]> {
  const { home, cwd } = newPlace();
  const agents = join(home, ".agents/agents");
  mkdirSync(agents, { recursive: true });
  writeFileSync(join(cwd, "long.txt"), "This is a line of a long file.\n".repeat(400));
  let replies: Reply[] = [];
  const server = await createApiServer({
    script: (request) => replyOfOthers(request) ?? replies.shift() ?? { content: "Done." },
  });
  const { provider, models } = wires[wire];
  const environment = { HOME: home, PATH: process.env["PATH"], ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
  const limits = { dialect: wire, baseUrl: server.url, window: 11_000, maxOutputTokens: 2_000 };
  const settings = { fork: "on", provider, providers: { [provider]: limits } } as const;
  const open = (options: SessionOptions): Promise<Session> =>
    openSession({ home, cwd, environment, settings, trusted: false, model: models[0], ...options });
  let session = await open({ agents: { judge: { ...judge, forkContext: true } } });
  try {
    await session.prompt("MAIN: begin.").result;
    for (const each of actions) {
      if (each.do === "prompt") {
        replies = each.replies.map((content) => ({ content }));
        const result = await session.prompt("MAIN: go on.").result;
        expect(result).toMatchObject({ outcome: "succeeded" });
      } else if (each.do === "compact") await compact(session);
      else if (each.do === "rewind") {
        const prompts = await session.prompts();
        if (prompts.length > 0) await session.rewind(prompts[each.to % prompts.length]?.id ?? "");
      } else if (each.do === "model") await session.setModel(models[each.model] ?? "");
      else if (each.do === "agents") {
        if (each.exists) writeFileSync(join(agents, "poet.md"), "---\nname: poet\ndescription: Rhymes.\n---\nRhyme.\n");
        else rmSync(join(agents, "poet.md"), { force: true });
      } else if (each.do === "instructions") {
        writeFileSync(join(home, ".agents/AGENTS.md"), each.text);
        writeFileSync(join(cwd, "AGENTS.md"), each.text);
      } else {
        if (each.isParked) {
          replies = [{ content: [read] }, { content: [read] }];
          for await (const { type } of session.prompt("MAIN: go on.")) if (type === "model.ended") break;
          await session.park();
        } else await session.close();
        session = await open({ ...each.options, model: models[each.model], resume: session.id });
      }
    }
    await session.close();
    expectRecordedHeads(
      session,
      server.requests.filter((request) => !isOther(request)),
    );
    return server.requests;
  } finally {
    await server.close();
  }
}

async function compact(session: Session): Promise<void> {
  try {
    await session.compact().result;
  } catch (error) {
    expect(error).toMatchObject({ message: "There is nothing to compact yet" });
  }
}

/** Returns the reply to a request for a summary or of a subagent, which reads a file and reports. */
function replyOfOthers(request: RecordedRequest): Reply | undefined {
  const last = messagesOf(request).at(-1);
  if (last?.text.includes("do not call any tool")) return { content: "Goal: go on." };
  if (!isOther(request)) return undefined;
  return last?.toolResults.some(({ text }) => text.includes("alpha")) ? { content: "Reported." } : { content: [read] };
}

/** Returns whether a request comes from a subagent. */
function isOther(request: RecordedRequest): boolean {
  const isFork = request.rawBody.includes(JSON.stringify(FORK_INTRODUCTION).slice(1, -1));
  return isFork || systemOf(request).includes("You are a judge.");
}
