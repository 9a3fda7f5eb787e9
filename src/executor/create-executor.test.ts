import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ResultStore, Tool, ToolContext, ToolExecutor, ToolOutput } from "../ports/index.ts";
import { type Grant, type JsonObject, type Policy, type Rule, type ToolCall, textOf } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { combineExecutors, createExecutor, type ExecutorLimits } from "./index.ts";

let top = "";
let root = "";
let saved: Map<string, string>;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "executor-")));
  root = join(top, "project");
  mkdirSync(root);
  saved = new Map();
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const results: ResultStore = {
  save: async (id, text) => {
    saved.set(id, String(text));
    return `retinue://result/${id}`;
  },
  saveFile: () => Promise.reject(new Error("No tool in this test saves files.")),
};

type Run = (input: JsonObject, context: ToolContext) => Promise<ToolOutput>;

function tool(name: string, run: Run, more: Partial<Tool> = {}): Tool {
  const properties = {
    file_path: { type: "string" },
    path: { type: "string" },
    url: { type: "string" },
    content: { type: "string" },
    limit: { type: "integer" },
  };
  return {
    declaration: { name, description: "", inputSchema: { type: "object", properties, additionalProperties: false } },
    traits: { parallel: false, effects: true },
    run,
    ...more,
  };
}

function executor(tools: readonly Tool[], limits: ExecutorLimits = {}): ToolExecutor {
  const workspace = createLocalWorkspace({ root, environment: {}, home: top });
  return createExecutor({ tools, workspace, results, home: top, limits: { graceMs: 10, abortGraceMs: 20, ...limits } });
}

function policy(more: Partial<Policy> = {}, ...rules: [Rule["effect"], string][]): Policy {
  return {
    mode: "default",
    pool: ["Read", "Write", "Grep", "TodoWrite", "WebFetch"],
    rules: rules.map(([effect, text]) => ({ effect, text, scope: "user" })),
    workspaceRoots: [root],
    readableRoots: [],
    ...more,
  };
}

const call = (name: string, input: object): ToolCall => ({ callId: "c1", name, inputJson: JSON.stringify(input) });
const never = new AbortController().signal;
const silent = () => {};

const writer = () =>
  tool("Write", async (input) => {
    writeFileSync(join(root, String(input["file_path"])), String(input["content"]));
    return { content: "written", facts: { filesChanged: [String(input["file_path"])] } };
  });

describe("judge", () => {
  it("decides on the canonical tool, whichever name the model used", async () => {
    const judgment = await executor([tool("Read", async () => ({ content: "" }))]).judge(
      call("read_file", { file_path: "a.ts" }),
      policy(),
    );
    expect(judgment).toMatchObject({ kind: "decided", decision: { effect: "allow" }, accesses: [{ kind: "read" }] });
  });

  it("suggests the nearest name for an unknown tool", async () => {
    const judgment = await executor([
      tool("Write", async () => ({ content: "" })),
      tool("Grep", async () => ({ content: "" })),
    ]).judge(call("Grpe", {}), policy());
    expect(judgment).toEqual({ kind: "invalid", message: expect.stringContaining("Did you mean Grep?") });
  });

  it("suggests only tools that the caller has", async () => {
    const all = executor(["Read", "Task"].map((name) => tool(name, async () => ({ content: "" }))));
    const judgment = await all.judge(call("none", {}), policy());
    expect(judgment).toEqual({ kind: "invalid", message: 'There is no tool named "none". The tools are: Read.' });
  });

  it.each(["[1]", "null", "{", '"x"'])("rejects the input %s", async (inputJson) => {
    const judgment = await executor([writer()]).judge({ callId: "c1", name: "Write", inputJson }, policy());
    expect(judgment).toMatchObject({ kind: "invalid" });
  });

  it("names a misspelled input if a required one is missing", async () => {
    const made = writer();
    const required = { ...made.declaration.inputSchema, required: ["file_path"] };
    const strict = { ...made, declaration: { ...made.declaration, inputSchema: required } };
    const judgment = await executor([strict]).judge(call("Write", { file_pth: "x" }), policy());
    const message = expect.stringContaining("`file_pth` is not a known property. Did you mean `file_path`?");
    expect(judgment).toEqual({ kind: "invalid", message });
  });
});

describe("unknown inputs", () => {
  async function read(input: object, more: Partial<Tool> = {}) {
    const name = "Read";
    const seen: JsonObject[] = [];
    const reader = tool(
      name,
      async (got) => {
        seen.push(got);
        return { content: "text" };
      },
      more,
    );
    const rules = policy({ pool: [name] }, ["allow", name]);
    const request = { agentId: "main" as const, call: call(name, input), policy: rules };
    const result = await executor([reader]).execute(request, silent, never);
    return { result, text: textOf(result.content), seen };
  }

  it("are ignored with a note that names the nearest input", async () => {
    const { result, text, seen } = await read({ file_path: "a", limt: 3 });
    expect(result.outcome).toBe("ok");
    expect(text).toBe('text\n[Ignored unknown input: "limt" (did you mean "limit"?).]');
    expect(seen).toEqual([{ file_path: "a" }]);
  });

  it("are all named in one line, no matter how long or how many they are", async () => {
    const { text, seen } = await read(JSON.parse('{"__proto__":1,"a\\n]b":2,"limit":"5","file_path":"a"}'));
    expect(text).toBe('text\n[Ignored unknown inputs: "__proto__", "a\\n]b".]');
    expect(seen).toEqual([{ limit: 5, file_path: "a" }]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}${"x".repeat(500)}`, 1]));
    expect((await read({ ...many, file_path: "a" })).text.length).toBeLessThan(1_000);
  });

  it("do not excuse an invalid value", async () => {
    const { result, text } = await read({ file_path: "a", limit: "many", colour: "red" });
    expect(result.outcome).toBe("error");
    expect(text).toContain("`limit` must be an integer");
  });

  it("have no influence on the permission decision", async () => {
    const judgment = await executor([tool("Grep", async () => ({ content: "" }))]).judge(
      call("Grep", { path: "src", file_path: "src", paths: "/etc" }),
      policy(),
    );
    expect(judgment).toMatchObject({ accesses: [{ kind: "search", path: "src" }] });
  });

  it("are passed to tools that accept any input", async () => {
    const open = await read({ any: 1, file_path: "a" }, { accepts: { type: "object", additionalProperties: true } });
    expect([open.text, open.seen]).toEqual(["text", [{ any: 1, file_path: "a" }]]);
  });
});

describe("execute", () => {
  it("runs a call that the policy allows, with the parsed input", async () => {
    const seen: JsonObject[] = [];
    const read = tool("Read", async (input) => {
      seen.push(input);
      return { content: "text", details: { lines: 1 } };
    });
    const result = await executor([read]).execute(
      { agentId: "main", call: call("Read", { file_path: "a", limit: "3" }), policy: policy() },
      silent,
      never,
    );
    expect(result).toEqual({ outcome: "ok", content: [{ type: "text", text: "text" }], details: { lines: 1 } });
    expect(seen).toEqual([{ file_path: "a", limit: 3 }]);
  });

  it("denies a call that needs approval and has none, and names the rule that would allow it", async () => {
    const result = await executor([writer()]).execute(
      { agentId: "main", call: call("Write", { file_path: "a", content: "x" }), policy: policy() },
      silent,
      never,
    );
    expect(result.outcome).toBe("denied");
    expect(textOf(result.content)).toContain("the permission mode acceptEdits");
    expect(textOf(result.content)).toContain("the rule `Edit(./a)`");
    expect(() => readFileSync(join(root, "a"))).toThrow();
  });

  it("applies a grant only to the exact call and input, and never overrides a deny rule", async () => {
    const asked = call("Write", { file_path: "a", content: "x" });
    const { callId, inputJson } = asked;
    const attempt = async (grant: { callId: string; inputJson: string }, rules: Policy = policy()) =>
      (await executor([writer()]).execute({ agentId: "main", call: asked, policy: rules, grant }, silent, never))
        .outcome;
    expect(await attempt({ callId: "c2", inputJson })).toBe("denied");
    expect(await attempt({ callId, inputJson: `${inputJson} ` })).toBe("denied");
    expect(await attempt({ callId, inputJson }, policy({}, ["deny", "Edit(a)"]))).toBe("denied");
    expect(await attempt({ callId, inputJson })).toBe("ok");
    expect(readFileSync(join(root, "a"), "utf8")).toBe("x");
  });

  it("reports an exception thrown by a tool as an error with the exception's message", async () => {
    const broken = tool("Read", () => {
      throw new Error("no luck");
    });
    const result = await executor([broken]).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() },
      silent,
      never,
    );
    expect(result.outcome).toBe("error");
    expect(textOf(result.content)).toContain("no luck");
  });

  it("abandons and aborts a tool that never returns", async () => {
    let signal: AbortSignal | undefined;
    const stuck = tool(
      "Read",
      (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
      { timeoutMs: () => 20 },
    );
    const result = await executor([stuck]).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() },
      silent,
      never,
    );
    expect(result.outcome).toBe("timeout");
    expect(signal?.aborted).toBe(true);
  });

  it("cancels a tool that ignores the signal, and drops its late result", async () => {
    const abort = new AbortController();
    const heard: string[] = [];
    let late: () => void = silent;
    const deaf = tool("Read", (_, context) => {
      context.progress("working");
      queueMicrotask(() => abort.abort());
      return new Promise((resolve) => {
        late = () => {
          context.progress("late");
          resolve({ content: "late" });
        };
      });
    });
    const result = await executor([deaf]).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() },
      (text) => heard.push(text),
      abort.signal,
    );
    late();
    expect(result.outcome).toBe("cancelled");
    expect(heard).toEqual(["working"]);
  });

  it("keeps the facts that a tool reports when it is aborted", async () => {
    const abort = new AbortController();
    const obedient = tool("Read", (_, context) => {
      queueMicrotask(() => abort.abort());
      return new Promise((resolve) => {
        context.signal.addEventListener("abort", () => resolve({ content: "half", facts: { filesChanged: ["a"] } }));
      });
    });
    const result = await executor([obedient], { abortGraceMs: 10_000 }).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() },
      silent,
      abort.signal,
    );
    expect(result).toMatchObject({ outcome: "cancelled", facts: { filesChanged: ["a"] } });
    expect(textOf(result.content)).toContain("half");
  });
});

describe("long results", () => {
  const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;

  it("are saved in full and cut for the model, with the address in the last line", async () => {
    const long = Array.from({ length: 2_000 }, (_, index) => `line ${index}`).join("\n");
    const read = tool("Read", async () => ({ content: [{ type: "text", text: long }, image] }));
    const result = await executor([read], { maxCharacters: 1_000 }).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() },
      silent,
      never,
    );
    const text = textOf(result.content);
    expect(text.length).toBeLessThanOrEqual(1_000);
    expect(text.split("\n").at(-1)).toContain("retinue://result/c1");
    expect(saved.get("c1")).toBe(long);
    expect(result.content[1]).toEqual(image);
  });

  it("say so if they can't be saved", async () => {
    const workspace = createLocalWorkspace({ root, environment: {} });
    const failing: ResultStore = { ...results, save: () => Promise.reject(new Error("disk full")) };
    const read = tool("Read", async () => ({ content: "x".repeat(5_000) }));
    const result = await createExecutor({
      tools: [read],
      workspace,
      results: failing,
      limits: { maxCharacters: 500 },
    }).execute({ agentId: "main", call: call("Read", { file_path: "a" }), policy: policy() }, silent, never);
    expect(result.outcome).toBe("ok");
    expect(textOf(result.content)).toContain("disk full");
  });
});

describe("authorize", () => {
  const asking = (access: Parameters<ToolContext["authorize"]>[0]) =>
    tool("WebFetch", async (_, context) => ({ content: (await context.authorize(access)).effect }));

  const granted = async (access: Parameters<ToolContext["authorize"]>[0], rules: Policy) => {
    const asked = call("WebFetch", { url: "https://example.com/a" });
    const grant = { callId: asked.callId, inputJson: asked.inputJson };
    const result = await executor([asking(access)]).execute(
      { agentId: "main", call: asked, policy: rules, grant },
      silent,
      never,
    );
    return textOf(result.content);
  };

  it("lets a grant cover the same host and nothing else", async () => {
    expect(await granted({ kind: "network", url: "https://example.com/b" }, policy())).toBe("allow");
    expect(await granted({ kind: "network", url: "https://example.com.evil.test/" }, policy())).toBe("ask");
    expect(await granted({ kind: "read", path: join(top, "secret") }, policy())).toBe("ask");
  });

  it("applies deny rules regardless of grants", async () => {
    const rules = policy({}, ["deny", "WebFetch(domain:evil.test)"]);
    expect(await granted({ kind: "network", url: "https://evil.test/" }, rules)).toBe("deny");
  });

  it("follows a link to its current target", async () => {
    symlinkSync("/etc", join(root, "link"));
    const read = tool("Read", async (_, context) => {
      const decision = await context.authorize({ kind: "read", path: "link/passwd" });
      return { content: `${decision.effect} ${context.hidden("/etc/passwd")} ${context.hidden(join(root, "a"))}` };
    });
    const result = await executor([read]).execute(
      { agentId: "main", call: call("Read", { file_path: "a" }), policy: policy({}, ["deny", "Read(//etc/**)"]) },
      silent,
      never,
    );
    expect(textOf(result.content)).toBe("deny true false");
  });
});

describe("combined executors", () => {
  const says = (name: string, text: string) => tool(name, async () => ({ content: text }));
  const echoes = (name: string, text: string) =>
    tool(name, async ({ file_path, path }) => ({ content: file_path === "a" ? text : `${text} ${file_path ?? path}` }));
  const names = ["Read", "Grep", "Write", "TodoWrite", "mcp__s__a"];
  const everything = () => policy({ mode: "bypassPermissions", pool: names });
  const combine = () => {
    const server = createExecutor({
      tools: [says("TodoWrite", "server"), says("mcp__s__a", "server")],
      names,
      results,
    });
    const texts = createExecutor({ tools: [echoes("Read", "texts"), echoes("Grep", "texts")], results });
    const worker = executor([echoes("Read", "worker"), echoes("Grep", "worker"), says("mcp__s__a", "worker")]);
    return combineExecutors({
      executors: [server, texts, worker],
      order: ["Read", "WebSearch", "TodoWrite"],
      addresses: { executor: texts, addressOf: (path) => (path === "/old/r1.txt" ? "retinue://result/r1" : undefined) },
    });
  };

  it("declare each tool once, the ordered ones first", () => {
    expect(
      combine()
        .declarations()
        .map(({ name }) => name),
    ).toEqual(["Read", "TodoWrite", "Grep", "mcp__s__a"]);
  });

  it.each([
    ["TodoWrite", "server"],
    ["Read", "worker"],
    ["mcp__s__a", "worker"],
  ])("pass a call to %s on to the %s, which declares it last", async (name, text) => {
    const request = { agentId: "main", call: call(name, { file_path: "a" }), policy: everything() } as const;
    expect(await combine().execute(request, silent, never)).toMatchObject({ outcome: "ok", content: [{ text }] });
  });

  it.each([
    ["Read", { file_path: "retinue://result/r1" }, "texts retinue://result/r1"],
    ["read_file", { file_path: "RETINUE://x" }, "texts RETINUE://x"],
    ["Grep", { path: "retinue://output/a1" }, "texts retinue://output/a1"],
    ["Read", { file_path: "/old/r1.txt" }, "texts retinue://result/r1"],
    ["Grep", { path: "/old/r1.txt" }, "texts retinue://result/r1"],
    ["Read", { file_path: "/old/r2.txt" }, "worker /old/r2.txt"],
    ["Grep", { url: "retinue://result/r1" }, "worker undefined"],
    ["mcp__s__a", { path: "retinue://result/r1" }, "worker"],
  ])("route %s %j to %s", async (name, input, text) => {
    const combined = combine();
    const request = { agentId: "main", call: call(name, input), policy: everything() } as const;
    const judged = await combined.judge(request.call, request.policy);
    expect(judged).toMatchObject({ kind: "decided", decision: { effect: "allow" } });
    const given = Object.values(input)[0] ?? "";
    const absolute = given.startsWith("/") ? [given] : [];
    expect(judged.kind === "decided" && judged.paths.map((path) => path.absolute)).toEqual(absolute);
    expect(await combined.execute(request, silent, never)).toMatchObject({ outcome: "ok", content: [{ text }] });
    expect(await combined.recall?.(request.call)).toBe("lost");
  });

  it("apply the agent's tools and rules to addresses too", async () => {
    const asked = call("Read", { file_path: "/old/r1.txt" });
    const outcomeFor = async (own: Policy, grant?: Grant) =>
      (await combine().execute({ agentId: "main", call: asked, policy: own, grant }, silent, never)).outcome;
    const grant = { callId: asked.callId, inputJson: asked.inputJson };
    expect(await outcomeFor(policy({ pool: ["Grep"] }))).toBe("denied");
    expect(await outcomeFor(policy({}, ["ask", "Read"]))).toBe("denied");
    expect(await outcomeFor(policy({}, ["ask", "Read"]), grant)).toBe("ok");
    expect(await outcomeFor(policy({}, ["ask", "Read"]), { ...grant, inputJson: "{}" })).toBe("denied");
  });

  it("suggest tools from all executors if a tool is unknown", async () => {
    const judged = await combine().judge(call("Raed", {}), everything());
    expect(judged).toMatchObject({ kind: "invalid", message: expect.stringContaining("Did you mean Read?") });
  });

  it("report an error if a tool without a workspace uses one", async () => {
    const server = createExecutor({ tools: [says("Read", "never")], results });
    const request = { agentId: "main", call: call("Read", { file_path: "a" }), policy: everything() } as const;
    const { outcome, content } = await server.execute(request, silent, never);
    expect([outcome, textOf(content)]).toEqual(["error", expect.stringContaining("has no workspace")]);
  });
});

describe("release and close", () => {
  it("end running calls and release every tool, even one that fails", async () => {
    const released: string[] = [];
    let started: () => void = silent;
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const stuck = tool(
      "Read",
      () => {
        started();
        return new Promise(() => {});
      },
      { release: () => Promise.reject(new Error("no")) },
    );
    const other = tool("Grep", async () => ({ content: "" }), {
      release: async (agentId) => void released.push(agentId),
    });
    const both = executor([stuck, other]);
    const execution = both.execute(
      { agentId: "a1", call: call("Read", { file_path: "a" }), policy: policy() },
      silent,
      never,
    );
    await running;
    await both.close();
    expect((await execution).outcome).toBe("cancelled");
    expect(released).toEqual(["a1"]);
    const after = await both.execute({ agentId: "a1", call: call("Grep", {}), policy: policy() }, silent, never);
    expect(after.outcome).toBe("cancelled");
  });
});

it("declares tools in the given order", () => {
  const names = ["Write", "Read", "Grep"];
  const made = executor(names.map((name) => tool(name, async () => ({ content: "" }))));
  expect(made.declarations().map(({ name }) => name)).toEqual(names);
  expect(made.traits("write_file")).toEqual({ parallel: false, effects: true });
});
