import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AssistantMessage,
  ENVIRONMENT_OPENING,
  FORK_INTRODUCTION,
  type Head,
  type Message,
  runtimeText,
  type UserMessage,
} from "../protocol/index.ts";
import {
  Chain,
  cacheDifference,
  headFingerprints,
  type PrefixPoint,
  prefixPoints,
  type WrittenPrompt,
} from "./index.ts";

const head: Head = {
  provider: "anthropic",
  model: "m-1",
  dialect: "anthropic",
  tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
  system: "You are precise.",
  systemContext: "linux",
  userContext: "",
};
const otherModel: Head = { ...head, model: "m-2" };
const otherProvider: Head = { ...head, provider: "openai", model: "g-1", dialect: "openai" };

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).map((said) => `${said}.`);
const inputJson = fc.constantFrom('{"file_path":"a.ts"}', '{ "b":1.0, "a":1e3 }', '{"😀":"日本"}', "{}");
const turn: fc.Arbitrary<[AssistantMessage, UserMessage]> = fc
  .tuple(text, fc.option(text), fc.array(fc.tuple(inputJson, text, fc.boolean()), { maxLength: 3 }), text, fc.boolean())
  .map(([said, thought, calls, prompt, fromOther]) => {
    const model = fromOther ? "m-2" : "m-1";
    const thinking =
      thought === null
        ? []
        : [{ type: "thinking" as const, text: thought, signature: "sig", origin: { provider: "anthropic", model } }];
    const ids = calls.map((_, position) => `c_${position}_${said.length}`);
    return [
      {
        role: "assistant",
        content: [
          ...thinking,
          { type: "text", text: said },
          ...calls.map(([json], at) => ({
            type: "tool_call" as const,
            callId: ids[at] ?? "",
            name: "Read",
            inputJson: json,
          })),
        ],
      },
      {
        role: "user",
        content: [
          ...calls.map(([, result, isError], at) => ({
            type: "tool_result" as const,
            callId: ids[at] ?? "",
            content: [{ type: "text" as const, text: result }],
            isError,
          })),
          ...(calls.length === 0 ? [{ type: "text" as const, text: prompt }] : []),
        ],
      },
    ];
  });

type Step = { do: "turn"; turn: [AssistantMessage, UserMessage] } | { do: "fork" } | { do: "request" };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: turn.map((made) => ({ do: "turn" as const, turn: made })) },
  { weight: 2, arbitrary: fc.constant({ do: "fork" as const }) },
  { weight: 3, arbitrary: fc.constant({ do: "request" as const }) },
);

function bodyOf(chain: Chain): string {
  return Buffer.concat([...chain.request().body(chain.head.dialect, 1_000)]).toString("utf8");
}

function unmarked(body: string): string {
  return body.replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

/** Returns the part of a request that a longer conversation must begin with. */
function prefixOf(body: string): string {
  return unmarked(body).replace(/\],"max_tokens":\d+\}$/, "");
}

function unthinking(message: Message): Message {
  if (message.role === "user") return message;
  return { role: "assistant", content: message.content.filter(({ type }) => type !== "thinking") };
}

function begin(of: Head): Chain {
  const chain = new Chain(of);
  chain.append({ role: "user", content: [{ type: "text", text: "begin" }] });
  return chain;
}

describe("a chain", () => {
  it("writes valid JSON whose unmarked bytes continue every earlier request, through appends and forks", () => {
    fc.assert(
      fc.property(fc.constantFrom(head, otherProvider), fc.array(step, { maxLength: 14 }), (of, steps) => {
        const branches: { chain: Chain; past: string[] }[] = [{ chain: begin(of), past: [] }];
        for (const [index, made] of steps.entries()) {
          const branch = branches[index % branches.length];
          if (!branch) continue;
          if (made.do === "turn") for (const message of made.turn) branch.chain.append(message);
          if (made.do === "fork") branches.push({ chain: branch.chain.fork(), past: [...branch.past] });
          if (made.do === "request") branch.past.push(prefixOf(bodyOf(branch.chain)));
        }
        for (const { chain, past } of branches) {
          const body = bodyOf(chain);
          const parsed = JSON.parse(body) as { messages: unknown[] };
          expect(parsed.messages.length).toBeGreaterThan(0);
          for (const earlier of past) expect(unmarked(body).startsWith(earlier)).toBe(true);
          expect(body.split("cache_control").length - 1).toBeLessThanOrEqual(4);
        }
      }),
    );
  });

  it("has the same fingerprint whether it was built through forks or directly from the same messages", () => {
    fc.assert(
      fc.property(fc.constantFrom(head, otherProvider), fc.array(step, { maxLength: 10 }), (of, steps) => {
        let chain = begin(of);
        for (const made of steps) {
          if (made.do === "turn") for (const message of made.turn) chain.append(message);
          if (made.do === "fork") chain = chain.fork();
          if (made.do === "request") chain.request().fingerprint();
        }
        const again = new Chain(of);
        for (const message of chain.messages()) again.append(message);
        expect(chain.fingerprint()).toBe(again.fingerprint());
        chain.append({ role: "assistant", content: [{ type: "text", text: "more" }] });
        expect(chain.fingerprint()).not.toBe(again.fingerprint());
      }),
    );
  });

  it("gives siblings that share a prefix the same bytes as without sharing", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(head, otherProvider),
        fc.nat(40),
        fc.array(text, { maxLength: 4 }),
        (of, calls, said) => {
          const parent = begin(of);
          const prefix = {};
          const placeholder = {
            type: "tool_result" as const,
            content: [{ type: "text" as const, text: "é" }],
            isError: false,
          };
          const results = Array.from({ length: calls }, (_, index) => ({ ...placeholder, callId: `c_${index}` }));
          for (const words of said) {
            const turn: UserMessage = { role: "user", content: [...results, { type: "text", text: words }] };
            const [sharing, alone] = [parent.fork(prefix), parent.fork()];
            for (const chain of [sharing, alone]) {
              chain.append(turn);
              chain.markSiblings();
            }
            expect(bodyOf(sharing)).toBe(bodyOf(alone));
            for (const chain of [sharing, alone]) {
              chain.append({ role: "assistant", content: [{ type: "text", text: words }] });
              chain.append({ role: "user", content: [{ type: "text", text: "more" }] });
            }
            expect(bodyOf(sharing)).toBe(bodyOf(alone));
            expect(sharing.fingerprint()).toBe(alone.fingerprint());
            expect(bodyOf(sharing.compact("[short]", 3).chain)).toBe(bodyOf(alone.compact("[short]", 3).chain));
          }
        },
      ),
    );
  });

  it("keeps only its newest turns, without thinking", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.nat(7), (past, wanted) => {
        const chain = begin(head);
        for (const message of past.flat()) chain.append(message);
        const turns = wanted + 1;
        const bounded = chain.newestTurns(turns, "[left out]");
        if (turns >= past.length) {
          expect(bounded).toBeUndefined();
          return;
        }
        const kept = past.slice(-turns).flat().map(unthinking);
        expect(bounded?.messages().slice(1)).toEqual(kept);
        const own = new Chain(head);
        own.append({ role: "user", content: [{ type: "text", text: "[left out]" }] });
        for (const message of kept) own.append(message);
        expect(bounded?.fingerprint()).toBe(own.fingerprint());
      }),
    );
  });

  it("gives a fork the parent's bytes, whichever of them continues", () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 5 }), turn, turn, (past, mine, theirs) => {
        const parent = begin(head);
        for (const message of past.flat()) parent.append(message);
        const shared = prefixOf(bodyOf(parent));
        const child = parent.fork();
        for (const message of mine) parent.append(message);
        for (const message of theirs) child.append(message);
        expect(unmarked(bodyOf(child)).startsWith(shared)).toBe(true);
        expect(unmarked(bodyOf(parent)).startsWith(shared)).toBe(true);
      }),
    );
  });

  it("produces the same bytes when it is rebuilt from its messages", () => {
    fc.assert(
      fc.property(fc.constantFrom(head, otherProvider), fc.array(turn, { maxLength: 6 }), (of, turns) => {
        const first = begin(of);
        for (const [assistant, user] of turns) {
          first.append(assistant);
          first.append(user);
          first.request();
        }
        const again = new Chain(of);
        const copy = JSON.parse(JSON.stringify(first.messages())) as Message[];
        for (const message of copy) again.append(message);
        expect(unmarked(bodyOf(again))).toBe(unmarked(bodyOf(first)));
      }),
    );
  });

  it("keeps the bytes that compaction keeps, except for thinking, and never splits a call from its result", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.nat(12), (turns, keep) => {
        const chain = begin(head);
        for (const message of turns.flat()) chain.append(message);
        const bare = begin(head);
        for (const message of turns.flat()) bare.append(unthinking(message));
        const before = unmarked(bodyOf(bare));
        const { chain: after, kept } = chain.compact("What happened so far.", keep);
        const body = JSON.parse(bodyOf(after)) as { messages: { role: string; content: { type: string }[] }[] };
        expect(body.messages.length).toBe(kept + 1);
        expect(kept).toBeLessThanOrEqual(keep);
        expect(body.messages[1]?.content[0]?.type).not.toBe("tool_result");
        for (const [index, { role }] of body.messages.entries())
          expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
        if (kept > 0) {
          const tail = unmarked(bodyOf(after)).split('"What happened so far."}]},')[1];
          expect(before.endsWith(tail ?? "missing")).toBe(true);
        }
      }),
    );
  });

  it("returns its first messages with unchanged bytes", () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), fc.nat(13), (turns, count) => {
        const chain = begin(head);
        for (const message of turns.flat()) chain.append(message);
        const first = chain.until(count);
        expect(first.messages()).toEqual(chain.messages().slice(0, count));
        if (first.length > 0) expect(unmarked(bodyOf(chain)).startsWith(prefixOf(bodyOf(first)))).toBe(true);
      }),
    );
  });

  it("does not separate a response from its continuation after a pause", () => {
    const chain = begin(head);
    for (const said of ["one", "two"]) chain.append({ role: "assistant", content: [{ type: "text", text: said }] });
    expect(chain.compact("Sum.", 1).kept).toBe(0);
    expect(chain.compact("Sum.", 2).kept).toBe(2);
  });

  it("leaves out another model's thinking, in both directions", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 5 }), (turns) => {
        const chain = begin(head);
        for (const message of turns.flat()) chain.append(message);
        const thoughts = (of: Head): number =>
          turns
            .flatMap(([answer]) => answer.content)
            .filter((b) => b.type === "thinking" && b.origin.model === of.model).length;
        const written = (made: Chain): number => unmarked(bodyOf(made)).split('"type":"thinking"').length - 1;
        const switched = chain.withHead(otherModel);
        expect(written(chain)).toBe(thoughts(head));
        expect(written(switched)).toBe(thoughts(otherModel));
        expect(written(switched.withHead(head))).toBe(thoughts(head));
        expect(unmarked(bodyOf(switched.withHead(head)))).toBe(unmarked(bodyOf(chain)));
        expect(bodyOf(chain.withHead(otherProvider))).not.toContain("thinking");
      }),
    );
  });

  it("keeps the messages' bytes under a new head for the same model, except for thinking after a change of tools or text", () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 5 }), (turns) => {
        const chain = begin(head);
        const bare = begin(head);
        for (const message of turns.flat()) {
          chain.append(message);
          bare.append(unthinking(message));
        }
        const messages = (of: Chain): string => unmarked(bodyOf(of)).replace(/^.*?"messages":\[/, "");
        expect(messages(chain.withHead({ ...head, effort: "high" }))).toBe(messages(chain));
        const changes: Partial<Head>[] = [
          { tools: [] },
          { system: "You are brief." },
          { systemContext: "darwin" },
          { userContext: "Be brief." },
        ];
        for (const change of changes) {
          const next = chain.withHead({ ...head, ...change });
          expect(messages(next)).toBe(messages(bare));
          // Thinking that was left out is not put back.
          expect(messages(next.withHead(head))).toBe(messages(bare));
        }
        expect(messages(chain.withoutThinking())).toBe(messages(bare));
      }),
    );
  });

  it("treats redacted thinking like other thinking, and keeps other blocks of the provider", () => {
    const origin = { provider: "anthropic", model: "m-1" };
    const chain = begin(head);
    const redacted = '{"type":"redacted_thinking","data":"x"}';
    const search = '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}';
    chain.append({
      role: "assistant",
      content: [
        { type: "opaque", json: redacted, origin },
        { type: "opaque", json: search, origin },
      ],
    });
    expect(bodyOf(chain)).toContain(`[${redacted},${search}]`);
    expect(bodyOf(chain.withoutThinking())).toContain(`"content":[${search}]`);
  });

  it("leaves out thinking that follows a call in the same response, because the call's id is not the provider's", () => {
    const origin = { provider: "anthropic", model: "m-1" };
    const think = (said: string) => ({ type: "thinking" as const, text: said, signature: "sig", origin });
    const call = (id: string) => ({ type: "tool_call" as const, callId: id, name: "Read", inputJson: "{}" });
    const chain = begin(head);
    chain.append({ role: "assistant", content: [think("a"), think("b"), call("c_0"), think("c"), call("c_1")] });
    chain.append({ role: "assistant", content: [think("d"), { type: "text", text: " " }, think("e")] });
    const body = JSON.parse(bodyOf(chain)) as { messages: { content: { thinking?: string; type: string }[] }[] };
    expect(body.messages.map(({ content }) => content.map(({ thinking, type }) => thinking ?? type))).toEqual([
      ["text"],
      ["a", "b", "tool_use", "tool_use"],
      ["d"],
    ]);
  });

  it("writes tool input as the model wrote it", () => {
    const chain = begin(head);
    chain.append({
      role: "assistant",
      content: [{ type: "tool_call", callId: "c1", name: "Read", inputJson: '{ "b":1.0, "a":1e3 }' }],
    });
    expect(bodyOf(chain)).toContain('"input":{ "b":1.0, "a":1e3 }');
  });
});

describe("cache marks", () => {
  it("are placed at the tools, the system text, the previous request's mark and the newest message", () => {
    const chain = begin(head);
    const first = JSON.parse(bodyOf(chain)) as Body;
    expect(marked(first)).toEqual(["Read", "system", "0.0"]);
    chain.append({ role: "assistant", content: [{ type: "text", text: "yes" }] });
    chain.append({ role: "user", content: [{ type: "text", text: "go on" }] });
    expect(marked(JSON.parse(bodyOf(chain)) as Body)).toEqual(["Read", "system", "0.0", "2.0"]);
  });

  it("let an agent read the tools that it shares with its caller, whatever follows them", () => {
    const named = (name: string) => ({ name, description: `${name}s, “so”`, inputSchema: { type: "object" } as const });
    const tools = ["Read", "Grep", "Task", "TaskStop"].map(named);
    const own = JSON.parse(bodyOf(begin({ ...head, tools }))) as Body;
    const called = JSON.parse(bodyOf(begin({ ...head, tools: tools.slice(0, 2), system: "You help." }))) as Body;
    expect([marked(own)[0], marked(called)[0]]).toEqual(["Grep", "Grep"]);
    expect(marked(JSON.parse(bodyOf(begin({ ...head, tools: tools.slice(2) }))) as Body)).toEqual(["system", "0.0"]);
  });

  it("can follow the environment, which is the same for agents of the same kind", () => {
    const chain = new Chain(head);
    const texts = [runtimeText(`${ENVIRONMENT_OPENING}\nDate: today`), "Do part 1."];
    chain.append({ role: "user", content: texts.map((text) => ({ type: "text", text })) });
    const [environment, whole] = prefixPoints(chain.request().view).points.slice(-2);
    expect((whole?.bytes ?? 0) - (environment?.bytes ?? 0)).toBeGreaterThan("Do part 1.".length);
    chain.markSiblings();
    expect(marked(JSON.parse(bodyOf(chain)) as Body)).toEqual(["Read", "system", "0.0", "0.1"]);
  });

  it("let a read-only agent read its caller's first tools, as long as marks are left", () => {
    const named = (name: string) => ({ name, description: `${name}s`, inputSchema: { type: "object" } as const });
    const tools = ["Read", "Grep", "Edit", "Bash", "Task"].map(named);
    const caller = begin({ ...head, tools });
    const body = bodyOf(caller);
    expect(marked(JSON.parse(body) as Body)).toEqual(["Grep", "Bash", "system", "0.0"]);
    const readOnly = bodyOf(begin({ ...head, tools: tools.slice(0, 2), system: "You look." }));
    expect(marked(JSON.parse(readOnly) as Body)).toEqual(["Grep", "system", "0.0"]);
    const end = body.indexOf('"cache_control"');
    expect(readOnly.slice(0, end)).toBe(body.slice(0, end));
    caller.append({ role: "assistant", content: [{ type: "text", text: "yes" }] });
    caller.append({ role: "user", content: [{ type: "text", text: "go on" }] });
    expect(marked(JSON.parse(bodyOf(caller)) as Body)).toEqual(["Bash", "system", "0.0", "2.0"]);
  });

  it.each([
    ["results", [], ["system", "1.0", "2.0", "2.1"]],
    ["results and text", [{ type: "text" as const, text: FORK_INTRODUCTION }], ["system", "1.0", "2.1", "2.2"]],
  ])("follow the shared %s of sibling forks", (_, words, places) => {
    const parent = begin(head);
    parent.request();
    const child = parent.fork();
    child.append({ role: "assistant", content: [{ type: "tool_call", callId: "c1", name: "Task", inputJson: "{}" }] });
    child.append({
      role: "user",
      content: [
        { type: "tool_result", callId: "c1", content: [{ type: "text", text: "started" }], isError: false },
        ...words,
        { type: "text", text: "Directive." },
      ],
    });
    child.markSiblings();
    expect(marked(JSON.parse(bodyOf(child)) as Body)).toEqual(places);
  });

  it("directly follow text in any script", () => {
    const chain = new Chain(head);
    chain.append({ role: "user", content: [{ type: "text", text: "日本語 😀 é" }] });
    expect(marked(JSON.parse(bodyOf(chain)) as Body)).toEqual(["Read", "system", "0.0"]);
  });

  it("do not exist in a dialect that caches automatically", () => {
    expect(bodyOf(begin(otherProvider))).not.toContain("cache_control");
    expect(bodyOf(begin({ ...otherProvider, cacheLifetime: "1h" }))).not.toContain("cache_control");
  });

  describe("with a lifetime of an hour", () => {
    const longHead: Head = { ...head, cacheLifetime: "1h" };
    const lifetimes = (chain: Chain): string[] =>
      [...bodyOf(chain).matchAll(/"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}/g)].map(([, ttl]) =>
        ttl === undefined ? "5m" : "1h",
      );
    const goOn = (chain: Chain): Chain => {
      chain.append({ role: "assistant", content: [{ type: "text", text: "yes" }] });
      chain.append({ role: "user", content: [{ type: "text", text: "go on" }] });
      return chain;
    };

    it("apply to every request, and after a change in either direction", () => {
      const chain = begin(longHead);
      expect(lifetimes(chain)).toEqual(["1h", "1h", "1h"]);
      expect(lifetimes(goOn(chain))).toEqual(["1h", "1h", "1h", "1h"]);
      expect(lifetimes(chain.compact("So far.", 2).chain)).toEqual(["1h", "1h", "1h"]);
      expect(lifetimes(chain.until(1))).toEqual(["1h", "1h", "1h"]);
      const shorter = chain.withHead(head);
      expect(lifetimes(shorter)).toEqual(["5m", "5m", "5m"]);
      expect(lifetimes(shorter.withHead(longHead))).toEqual(["1h", "1h", "1h"]);
    });

    it("cover the messages that a fork inherits but not its own, so that longer lifetimes come first", () => {
      const parent = goOn(begin(longHead));
      parent.request();
      const child = parent.fork();
      expect(lifetimes(goOn(child))).toEqual(["1h", "1h", "1h", "5m"]);
      expect(lifetimes(goOn(child))).toEqual(["1h", "1h", "5m", "5m"]);
      expect(lifetimes(child.compact("So far.", 0).chain)).toEqual(["1h", "1h", "5m"]);
      expect(lifetimes(goOn(parent))).toEqual(["1h", "1h", "1h", "1h"]);
      const bounded = parent.newestTurns(1, "[Left out.]");
      expect(bounded && lifetimes(bounded)).toEqual(["1h", "1h", "5m"]);
    });

    it("are the same in a chain that was packed for another process", () => {
      const child = goOn(goOn(begin(longHead)).fork());
      const packed = child.pack(child.request());
      if (packed === undefined) throw new Error("nothing was packed");
      const { chain, prompt } = Chain.unpack(longHead, packed.facts, Buffer.concat([...packed.bytes]));
      expect(prompt && Buffer.concat([...prompt.body("anthropic", 1_000)]).toString()).toBe(bodyOf(child));
      expect(lifetimes(goOn(chain))).toEqual(lifetimes(goOn(child)));
    });

    it("do not count as a difference between two requests", () => {
      const chain = begin(longHead);
      const earlier = chain.request();
      expect(cacheDifference(earlier, goOn(chain).withHead(head).request())).toBeUndefined();
      expect(headFingerprints(longHead)).toEqual(headFingerprints(head));
    });
  });
});

describe("the difference between two requests", () => {
  const cases: [Partial<Head>, string][] = [
    [{ model: "m-2" }, "tools_model_thinking"],
    [{ tools: [] }, "tools_model_thinking"],
    [{ thinking: "adaptive" }, "tools_model_thinking"],
    [{ system: "You are terse." }, "system"],
    [{ systemContext: "darwin" }, "system_context"],
    [{ userContext: "Be brief." }, "user_context"],
  ];
  for (const [change, dimension] of cases) {
    it(`names ${dimension} when ${Object.keys(change)[0]} changed`, () => {
      const chain = begin(head);
      const changed = chain.withHead({ ...head, ...change });
      expect(cacheDifference(chain.request(), changed.request())?.dimension).toBe(dimension);
    });
  }

  it("names the messages and the first byte that differs", () => {
    const left = begin(head);
    const right = new Chain(head);
    right.append({ role: "user", content: [{ type: "text", text: "bEgin" }] });
    const at = unmarked(bodyOf(left)).indexOf("egin");
    expect(cacheDifference(left.request(), right.request())).toEqual({
      dimension: "messages",
      firstDifference: at,
    });
  });

  it("is undefined if the later request continues the earlier one", () => {
    const chain = begin(head);
    const earlier = chain.request();
    chain.append({ role: "assistant", content: [{ type: "text", text: "yes" }] });
    expect(cacheDifference(earlier, chain.request())).toBeUndefined();
  });
});

describe("fingerprints", () => {
  it("of messages are equal if and only if their bytes are, after any appends, forks and new heads, in any order of calls", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (steps, late) => {
        const branches = [begin(head)];
        const prompts: { prompt: WrittenPrompt; messages: string }[] = [];
        for (const [index, made] of steps.entries()) {
          const chain = branches[index % branches.length];
          if (!chain) continue;
          if (made.do === "turn") for (const message of made.turn) chain.append(message);
          if (made.do === "fork")
            branches.push(index % 2 === 0 ? chain.fork() : chain.withHead({ ...head, system: "x" }));
          if (made.do !== "request") continue;
          const prompt = chain.request();
          if (!late) prompt.fingerprint();
          const body = unmarked(Buffer.concat([...prompt.body("anthropic", 1_000)]).toString("utf8"));
          prompts.push({ prompt, messages: body.slice(body.indexOf('"messages":[')) });
        }
        for (const left of prompts.toReversed())
          for (const right of prompts)
            expect(left.prompt.fingerprint() === right.prompt.fingerprint()).toBe(left.messages === right.messages);
      }),
      { numRuns: 50 },
    );
  });

  it("of a head differ only in the dimension that changed", () => {
    const changes = { system: "Other.", systemContext: "darwin", userContext: "Be brief.", model: "m-2" };
    const names = Object.entries(changes).map(([key, value]) => {
      const [before, after] = [headFingerprints(head), headFingerprints({ ...head, [key]: value })];
      return Object.keys(before).filter(
        (name) => before[name as keyof typeof before] !== after[name as keyof typeof after],
      );
    });
    expect(names).toEqual([["system"], ["system_context"], ["user_context"], ["tools_model_thinking"]]);
  });
});

describe("points of a request", () => {
  it("are shared exactly as far as the bytes are equal, up to the results that forks share", () => {
    const parent = begin(head);
    const earlier = prefixPoints(parent.request().view).points;
    parent.append({ role: "assistant", content: [{ type: "tool_call", callId: "c1", name: "Task", inputJson: "{}" }] });
    const directed = (directive: string) => {
      const child = parent.fork();
      const result = {
        type: "tool_result",
        callId: "c1",
        content: [{ type: "text", text: "started" }],
        isError: false,
      };
      child.append({ role: "user", content: [result, { type: "text", text: directive }] } as UserMessage);
      return child.request().view;
    };
    const views = [directed("One."), directed("Two.")] as const;
    const [left, right] = views.map((view) => prefixPoints(view).points) as [PrefixPoint[], PrefixPoint[]];
    const shared = left.filter(({ key }, index) => right[index]?.key === key);
    expect(shared.length).toBe(left.length - 1);
    expect(left.slice(0, earlier.length)).toEqual(earlier);
    const behind = { head: left.slice(0, 5), points: left.slice(earlier.length), continues: true };
    expect(prefixPoints(views[0], earlier.at(-1))).toEqual(behind);
    expect(prefixPoints(views[1], left.at(-1))).toEqual({ head: right.slice(0, 5), points: right, continues: false });
    expect(earlier.at(-1)?.bytes).toBe(Buffer.byteLength(prefixOf(bodyOf(begin(head)))));
  });
});

interface Body {
  tools?: { name: string; cache_control?: unknown }[];
  system: { cache_control?: unknown }[];
  messages: { content: { cache_control?: unknown }[] }[];
}

function marked(body: Body): string[] {
  const places = (body.tools ?? []).flatMap(({ name, cache_control }) => (cache_control ? [name] : []));
  if (body.system.at(-1)?.cache_control) places.push("system");
  for (const [index, message] of body.messages.entries())
    for (const [at, block] of message.content.entries()) if (block.cache_control) places.push(`${index}.${at}`);
  return places;
}
