import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../src/app/index.ts";
import { createPlace, resultOf, retinue, serve } from "./command-line.ts";

describe("retinue cache", () => {
  it("reports how much input was read from the cache, and explains misses", async () => {
    const place = createPlace();
    const server = await serve([{ content: "One." }, { content: "Two." }, { content: "Three." }]);
    await retinue(["-p", "Say one."], { ...place, server });
    await retinue(["-p", "Say two.", "--continue"], { ...place, server });
    const last = await retinue(
      ["-p", "Say three.", "--continue", "--model", "claude-opus-5-5", "--output-format", "json"],
      { ...place, server },
    );
    const { cache, session_id: id } = resultOf(last) as { cache?: { requests: number }; session_id: string };
    const report = JSON.parse((await retinue(["cache", "report", "--json"], place)).stdout) as { total: object };
    expect(report).toMatchObject({ sessionId: id, agents: [{ agentId: "main", requests: 3 }] });
    expect(report.total).toMatchObject({ requests: 3, usd: { spent: expect.any(Number) } });
    expect(cache).toMatchObject({ requests: 3, idealReadTokens: expect.any(Number) });

    const { stdout } = await retinue(["cache", "explain", id.slice(0, 20)], place);
    const rows = stdout.split("\n").filter((line) => /^ +\d /.test(line));
    const [first, second, third] = rows.map((row) =>
      row
        .trim()
        .split(/ {2,}/)
        .map((cell) => cell.replace(",", "")),
    );
    expect([first?.[2], third?.[2]]).toEqual(["0", "0"]);
    expect(second?.[2]).toBe(first?.[1]);
    expect(stdout).toMatch(/Tools, model or thinking differ from byte \d+ on, so about [\d,]+ cached tokens/);
    expect(stdout).toMatch(/before: .*claude-sonnet-5-5.*\n.*now: .*claude-opus-5-5/);
    expect((await retinue(["sessions", "show", id], place)).stdout).toMatch(
      /Cache: [\d,]+ tokens read .*with an ideal one/,
    );
    expect((await retinue(["cache", "explain", id, "--agent", "zzz"], place)).stderr).toContain(
      "Its only agent is main.",
    );
  });
});

describe("retinue sessions", () => {
  it("lists, shows and deletes", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.txt"), "hello\n");
    const server = await serve([
      { content: ["Looking.", { tool: "Read", input: { file_path: "a.txt" } }] },
      { content: [{ tool: "Bash", input: { command: "touch b" } }] },
      { content: "It says hello\u001b[31m." },
    ]);
    const run = await retinue(["-p", "What does it say?", "--output-format", "json"], { ...place, server });
    const { session_id: id } = resultOf(run);

    const list = await retinue(["sessions", "list"], place);
    expect(list.stdout).toContain("FIRST PROMPT");
    expect(list.stdout).toMatch(new RegExp(`${id} +just now +succeeded +3 +What does it say\\?`));
    const json = JSON.parse((await retinue(["sessions", "list", "--all", "--json"], place)).stdout) as {
      path: string;
    }[];
    expect(json).toEqual([expect.objectContaining({ id, lastOutcome: "succeeded", cwd: place.cwd })]);

    const show = await retinue(["sessions", "show", id.slice(0, 20)], place);
    expect(show.stdout).toContain("You: What does it say?");
    expect(show.stdout).toMatch(/• Read a\.txt · ok/);
    expect(show.stdout).toMatch(/• Bash touch b · denied/);
    expect(show.stdout).toMatch(/── succeeded · 3 turns · [\d,]+ tokens in/);
    expect(show.stdout).not.toContain("\u001b");
    const lines = (await retinue(["sessions", "show", id, "--json"], place)).stdout.trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "session.created", sessionId: id });
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ type: "run.cleaned" });

    const unasked = await retinue(["sessions", "delete", id], place);
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("--yes");
    expect(existsSync(json[0]?.path ?? "")).toBe(true);
    expect(await retinue(["sessions", "delete", id, "--yes"], place)).toMatchObject({ code: 0 });
    expect(existsSync(json[0]?.path ?? "")).toBe(false);
    expect((await retinue(["sessions"], place)).stdout).toContain("no sessions");
  });
});

describe("retinue doctor", () => {
  it("finds a responding provider, and never shows the key", async () => {
    const place = createPlace();
    const server = await serve([], { models: ["claude-sonnet-5-5"] });
    const run = await retinue(["doctor", "--model", "claude-sonnet-5-5"], { ...place, server });
    expect(run.stdout).toContain("key from ANTHROPIC_API_KEY");
    expect(run.stdout).toContain("lists the model claude-sonnet-5-5");
    expect(run.stdout + run.stderr).not.toContain("sk-test-secret");
    expect(run.code).toBe(0);
  });

  it("lists the provider's models if it does not have the configured one", async () => {
    const place = createPlace();
    const server = await serve([], { models: ["claude-sonnet-5-5", "other-model"] });
    const { stdout } = await retinue(["doctor", "--model", "claude-sonet"], { ...place, server });
    expect(stdout).toMatch(
      /! connection .*does not list the model claude-sonet\n.*Available: claude-sonnet-5-5, other-model\./,
    );
  });

  it("accepts the offline model, and says that it is used", async () => {
    const run = await retinue(["doctor", "--json"], createPlace());
    const report = JSON.parse(run.stdout) as {
      ok: boolean;
      findings: { name: string; status: string; fix?: string }[];
    };
    expect(report.ok).toBe(true);
    expect(report.findings.find(({ name }) => name === "search")).toMatchObject({
      status: "warn",
      found: "not configured: agents can't search the web",
      fix: expect.stringContaining("search.engine"),
    });
    for (const { status, fix } of report.findings) expect(fix === undefined).toBe(status === "ok");
    expect(report.findings.find(({ name }) => name === "provider")).toMatchObject({
      status: "warn",
      fix: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
    expect(report.findings.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["settings", "trust", "ripgrep", "git", "bash", "sandbox", "state", "disk"]),
    );
    expect(run.code).toBe(0);
  });

  it("fails for a server that does not respond, invalid settings and an unusable state directory", async () => {
    const place = createPlace();
    writeFileSync(place.home, "");
    const server = await serve([]);
    await server.close();
    const settings = join(place.cwd, "settings.json");
    writeFileSync(settings, "{");
    const run = await retinue(["doctor", "--settings", settings], { ...place, server });
    expect(run.code).toBe(1);
    for (const name of ["settings", "connection", "state"]) expect(run.stdout).toMatch(new RegExp(`✗ ${name} `));
    expect(run.stdout).toContain("Found 3 problems (✗).");
    expect(run.stdout.match(/^✗ .*\n +→ /gm)).toHaveLength(3);
  });

  it("reports everything that is disabled or unknown, and a sandbox that settings disable", async () => {
    const place = createPlace();
    mkdirSync(join(place.cwd, ".claude/agents"), { recursive: true });
    writeFileSync(join(place.cwd, ".claude/agents/a.md"), "---\nname: a\ndescription: b\n---\nc\n");
    const settings = join(place.cwd, "settings.json");
    writeFileSync(settings, JSON.stringify({ sandbox: "off", colour: "red", flavour: "sour" }));
    const { stdout, code } = await retinue(["doctor", "--settings", settings], place);
    expect(stdout).toMatch(/! settings .*"colour".*"flavour"/);
    expect(stdout).toMatch(/! trust .*\.claude\/agents[^\n]*\n *→ .*retinue trust add/);
    expect(stdout).toMatch(
      /! sandbox {3}off in your settings: commands run with all your permissions\n +→ .*"sandbox"/,
    );
    expect(stdout).toContain("Ready. Retinue works without the parts that are marked with !.");
    expect(code).toBe(0);
  });
});

describe("help and version", () => {
  it.each([[["--help"]], [["-p", "x", "--help"]], [["help"]]])("%j shows the main page", async (words) => {
    const run = await retinue(words, createPlace());
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("Examples\n  retinue\n  retinue -p ");
  });

  it.each([[["sessions", "--help"]], [["help", "sessions"]]])("%j shows the page for sessions", async (words) => {
    expect((await retinue(words, createPlace())).stdout).toContain("retinue sessions delete ID");
  });

  it("shows the version", async () => {
    expect(await retinue(["--version"], createPlace())).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
  });
});
