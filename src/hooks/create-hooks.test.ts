import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HookScene } from "../ports/index.ts";
import { type CallId, type HookEntry, MAIN_AGENT, type SessionId } from "../protocol/index.ts";
import { createHookCommands, type HookCommands } from "../worker/hook-commands.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createHooks, type OpenHooks } from "./create-hooks.ts";
import type { CommandHook, Hook } from "./hook.ts";

let root: string;
let opened: HookCommands[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-hooks-")));
});
afterEach(async () => {
  await Promise.all(opened.map((commands) => commands.close()));
  opened = [];
  rmSync(root, { recursive: true, force: true });
});

function open(hooks: readonly Hook[], environment: Record<string, string> = {}): OpenHooks {
  const workspace = createLocalWorkspace({ root, environment: { ...process.env, ...environment } });
  const sessionId = "s1" as SessionId;
  const commands = createHookCommands({ workspace, sessionId });
  opened.push(commands);
  return createHooks({
    hooks,
    runCommand: commands.run,
    sessionId,
    transcriptPath: (agentId) => `/kept/${agentId}.jsonl`,
  });
}

const command = (line: string, more: Partial<CommandHook> = {}): CommandHook => ({
  kind: "command",
  source: "user",
  event: "PreToolUse",
  command: line,
  ...more,
});

const scene = (signal = new AbortController().signal): HookScene => ({
  agentId: MAIN_AGENT,
  agentType: "main",
  depth: 0,
  cwd: root,
  permissionMode: "default",
  signal,
});

const call = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "c1" as CallId };

describe("a command", () => {
  it("receives the agent and the call as JSON", async () => {
    const hooks = open([command("cat > told.json")]);
    await hooks.run("PreToolUse", call, {
      ...scene(),
      agentId: "a1" as never,
      agentType: "db",
      parent: MAIN_AGENT,
      depth: 1,
    });
    expect(JSON.parse(readFileSync(join(root, "told.json"), "utf8"))).toEqual({
      hook_event_name: "PreToolUse",
      session_id: "s1",
      agent_id: "a1",
      agent_type: "db",
      parent_agent_id: MAIN_AGENT,
      depth: 1,
      transcript_path: "/kept/a1.jsonl",
      cwd: root,
      permission_mode: "default",
      tool: "Bash",
      tool_name: "Bash",
      tool_input: { command: "ls" },
      tool_use_id: "c1",
    });
  });

  it("denies with exit code 2 and gives the reason on standard error", async () => {
    const outcome = await open([command("echo 'not here' >&2; exit 2")]).run("PreToolUse", call, scene());
    expect(outcome).toEqual({ ran: 1, decision: "deny", reason: "not here", notices: [] });
  });

  it("changes the input with JSON", async () => {
    writeFileSync(
      join(root, "answer.json"),
      JSON.stringify({ hookSpecificOutput: { updatedInput: { command: "ls -la" } } }),
    );
    expect(await open([command("cat answer.json")]).run("PreToolUse", call, scene())).toMatchObject({
      input: { command: "ls -la" },
    });
  });

  it("runs in the workspace, gets the workspace's path, and does not see keys", async () => {
    const hooks = open([command('pwd > where; echo "$CLAUDE_PROJECT_DIR|$MY_API_KEY|$PLAIN" >> where')], {
      MY_API_KEY: "secret",
      PLAIN: "seen",
    });
    await hooks.run("PreToolUse", call, scene());
    expect(readFileSync(join(root, "where"), "utf8")).toBe(`${root}\n${root}||seen\n`);
  });

  it("from a plugin gets the plugin's directory", async () => {
    const hooks = open([
      command('echo "$CLAUDE_PLUGIN_ROOT" >&2; exit 2', { source: "plugin", pluginRoot: "/plugins/kit" }),
    ]);
    expect((await hooks.run("PreToolUse", call, scene())).reason).toBe("/plugins/kit");
  });

  it("with arguments is run as a program, without a shell", async () => {
    const hooks = open([command("printf", { args: ['{"decision":"deny","reason":"%s"}', "$HOME; ls"] })]);
    expect((await hooks.run("PreToolUse", call, scene())).reason).toBe("$HOME; ls");
  });

  it.each([
    ["does not exist", command("./no-such-script.sh")],
    ["can't be started", command("./no-such-program", { args: ["a"] })],
    ["kills itself", command("kill -9 $$")],
    ["says too much", command("head -c 2000000 /dev/zero")],
    ["does not end", command("sleep 60", { timeoutSeconds: 0.2 })],
  ])("that %s blocks a call", async (_, hook) => {
    expect((await open([hook]).run("PreToolUse", call, scene())).decision).toBe("deny");
  });

  it("may ignore a long input", async () => {
    const long = { ...call, tool_input: { command: "x".repeat(300_000) } };
    expect(await open([command("exit 0")]).run("PreToolUse", long, scene())).toEqual({ ran: 1, notices: [] });
  });

  it("leaves nothing running", async () => {
    const hooks = open([command("sleep 60 & echo $! > pid")]);
    await hooks.run("PreToolUse", call, scene());
    await Promise.all(opened.map((commands) => commands.close()));
    expect(isAlive(Number(readFileSync(join(root, "pid"), "utf8")))).toBe(false);
  });

  it("is ended with all its processes when the run is aborted", async () => {
    const abort = new AbortController();
    const hooks = open([command("sleep 60 & echo $! > pid; mkfifo started; echo > started; wait")]);
    const outcome = hooks.run("PreToolUse", call, scene(abort.signal));
    while (!existsSync(join(root, "started"))) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    expect((await outcome).decision).toBe("deny");
    await Promise.all(opened.map((commands) => commands.close()));
    expect(isAlive(Number(readFileSync(join(root, "pid"), "utf8")))).toBe(false);
  });
});

describe("hooks for an event", () => {
  it("all run in parallel, and the strictest answer wins", async () => {
    // Each hook waits for the other, so they would never end if they ran in sequence.
    const hooks = open([
      command('mkfifo a 2>/dev/null; echo x > a; echo \'{"decision":"allow"}\''),
      command("until [ -p a ]; do sleep 0.01; done; read < a; echo 'no' >&2; exit 2"),
    ]);
    expect(await hooks.run("PreToolUse", call, scene())).toMatchObject({ ran: 2, decision: "deny", reason: "no" });
  });

  it("do not run if none matches", async () => {
    const hooks = open([command("exit 2", { matcher: "Edit" })]);
    expect(await hooks.run("PreToolUse", call, scene())).toEqual({ ran: 0, notices: [] });
    expect(hooks.has("PreToolUse")).toBe(true);
    expect(hooks.has("Stop")).toBe(false);
  });

  it("include, for a subagent, its own hooks and the session's hooks except Stop", async () => {
    const stop: Pick<HookEntry, "event"> = { event: "Stop" };
    const hooks = open([command("exit 2"), command("echo session >&2; exit 2", stop)]);
    const own = hooks.forAgent([command("echo own >&2; exit 2", stop)]);
    const facts = {
      stop_hook_active: false,
      outcome: "succeeded",
      reason: "done",
      last_assistant_message: "",
    } as const;
    expect((await own.run("Stop", facts, scene())).reason).toBe("own");
    expect((await hooks.run("Stop", facts, scene())).reason).toBe("session");
    expect((await own.run("PreToolUse", call, scene())).decision).toBe("deny");
  });
});

describe("a function set by the program", () => {
  const functionHook = (run: (input: never, signal: AbortSignal) => unknown, more: Partial<Hook> = {}): Hook =>
    ({ kind: "function", source: "user", event: "PreToolUse", run, ...more }) as Hook;

  it("is called like a command", async () => {
    const seen: unknown[] = [];
    const hooks = open([
      functionHook((input) => {
        seen.push(input);
        return { decision: "ask", reason: "look first" };
      }),
    ]);
    expect(await hooks.run("PreToolUse", call, scene())).toMatchObject({ decision: "ask", reason: "look first" });
    expect(seen).toEqual([expect.objectContaining({ tool_name: "Bash", agent_type: "main" })]);
  });

  it("may return nothing", async () => {
    expect(await open([functionHook(() => undefined)]).run("PreToolUse", call, scene())).toEqual({
      ran: 1,
      notices: [],
    });
  });

  it("that throws blocks a call", async () => {
    const hooks = open([
      functionHook(() => {
        throw new Error("broken");
      }),
    ]);
    expect(await hooks.run("PreToolUse", call, scene())).toMatchObject({
      decision: "deny",
      reason: expect.stringContaining("broken"),
    });
  });

  it.each([{ decision: "blocked" }, { decison: "deny" }, "deny"])(
    "that returns the invalid answer %j blocks a call",
    async (answer) => {
      const hooks = open([functionHook(() => answer as never)]);
      expect(await hooks.run("PreToolUse", call, scene())).toMatchObject({
        decision: "deny",
        reason: expect.stringContaining("returned an invalid answer"),
      });
    },
  );

  it("that never returns blocks a call after its time limit", async () => {
    const hooks = open([functionHook(() => new Promise(() => {}), { timeoutSeconds: 0.05 })]);
    expect(await hooks.run("PreToolUse", call, scene())).toMatchObject({
      decision: "deny",
      reason: expect.stringContaining("time limit"),
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie process that its new parent has not reaped yet is not running.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
