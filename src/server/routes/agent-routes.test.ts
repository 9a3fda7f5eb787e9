import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { addTrust } from "../../app/index.ts";
import type { AgentFileCheck, AgentReport, WrittenAgent } from "../../protocol/index.ts";
import { environmentFor, newPlace, type ServerPlace, startServer } from "../server.test-support.ts";

const draft = {
  name: "doc-reviewer",
  description: "Reviews Markdown files. Use after changing docs. Reads only.",
  tools: ["Read", "Grep", "Bash(git diff *)"],
  model: "small",
  permissionMode: "plan",
  prompt: "You review documentation.\n\nReport what is wrong.",
};

async function trusted(files: Readonly<Record<string, string>> = {}): Promise<ServerPlace> {
  const place = newPlace();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place.cwd, path)), { recursive: true });
    writeFileSync(join(place.cwd, path), text);
  }
  await addTrust({ home: place.home, cwd: place.cwd, environment: environmentFor(place, undefined) });
  return place;
}

const file = (fields: string): string => `---\n${fields}\n---\nYou review.\n`;

describe("agents over HTTP", () => {
  it("are explained with their tools, tokens, problems and fixes", async () => {
    const place = await trusted({
      ".agents/agents/reviewer.md": file("name: reviewer\ndescription: Helps with things\ntools: Read, Grpe, Task"),
    });
    const server = await startServer({ place });
    const report = (await server.send("GET", "/agent/reviewer")).json as AgentReport;
    expect(report).toMatchObject({
      source: "project",
      mode: "default",
      prompt: "You review.\n",
      toolReport: {
        resolvedTools: ["Read"],
        invalidTools: ["Grpe", "Task"],
        withheld: [
          { tool: "Task", why: expect.stringContaining("can't delegate") },
          { tool: "Grpe", why: "there is no such tool" },
        ],
      },
    });
    expect(report.tokens.listing).toBeGreaterThan(0);
    expect(report.diagnostics).toContainEqual(
      expect.objectContaining({ severity: "warning", code: "unknown_tool", line: 4, fix: 'Did you mean "Grep"?' }),
    );
    expect(report.diagnostics.map(({ code }) => code)).toContain("no_trigger");
    expect(report.text).toContain("name: reviewer");
    const built = (await server.send("GET", "/agent/Explore")).json as AgentReport;
    expect(built).toMatchObject({ source: "built-in", name: "Explore" });
    expect(built.text).toBeUndefined();
    const missing = (await server.send("GET", "/agent/reviwer")).json as { detail: string };
    expect(missing).toMatchObject({ status: 404, code: "unknown_agent" });
    expect(missing.detail).toContain('Did you mean "reviewer"?');
  });

  it("are explained with the tools that the settings let them have", async () => {
    const place = await trusted({
      ".claude/settings.json": JSON.stringify({ subagents: { maxDepth: 6, blockedTools: ["WebFetch"] } }),
      ".agents/agents/lead.md": file("name: lead\ndescription: Leads.\ntools: Read, Task, WebFetch"),
    });
    const server = await startServer({ place });
    const report = (await server.send("GET", "/agent/lead")).json as AgentReport;
    expect(report.toolReport.resolvedTools).toEqual(expect.arrayContaining(["Read", "Task"]));
    expect(report.toolReport.withheld).toEqual([{ tool: "WebFetch", why: "subagents.blockedTools lists it" }]);
  });

  it("are checked before they are written", async () => {
    const place = await trusted({ ".agents/agents/taken.md": file("name: taken\ndescription: Reviews. Use when X.") });
    const server = await startServer({ place });
    const check = async (body: unknown) => (await server.send("POST", "/agent/check", { body })).json as AgentFileCheck;
    const good = await check({ draft });
    expect(good).toMatchObject({
      loads: true,
      file: join(place.cwd, ".agents/agents/doc-reviewer.md"),
      diagnostics: [],
      report: { mode: "plan", toolReport: { resolvedTools: ["Read", "Bash", "Grep"] } },
    });
    const bad = await check({ draft: { ...draft, tools: ["Grpe"], description: "Things" } });
    expect(bad.diagnostics).toContainEqual(expect.objectContaining({ fix: 'Did you mean "Grep"?' }));
    expect(bad.diagnostics.map(({ code }) => code)).toContain("no_action");
    expect((await check({ draft: { ...draft, name: "Taken" } })).diagnostics[0]).toMatchObject({
      severity: "error",
      code: "name_taken",
      message: 'There is already an agent "taken" (.agents/agents/taken.md).',
    });
    expect((await check({ draft: { ...draft, name: "taken" } })).diagnostics[0]).toMatchObject({
      code: "name_taken",
      message: ".agents/agents/taken.md already exists.",
    });
    expect((await check({ draft: { ...draft, name: "Explore" } })).diagnostics).toContainEqual(
      expect.objectContaining({ severity: "notice", code: "shadows" }),
    );
    const changed = await check({ agent: "taken", text: file("name: taken\ndescription: Reviews.\ntools: Raed") });
    expect(changed.diagnostics).toContainEqual(expect.objectContaining({ fix: 'Did you mean "Read"?' }));
    expect((await server.send("POST", "/agent/check", { body: { agent: "taken" } })).status).toBe(400);
    expect(readdirSync(join(place.cwd, ".agents/agents"))).toEqual(["taken.md"]);
  });

  it("are written, loaded, and changed only by clients that have read the latest text", async () => {
    const place = await trusted();
    const server = await startServer({ place });
    const created = await server.send("POST", "/agent", { body: { draft } });
    expect(created).toMatchObject({ status: 201, json: { name: "doc-reviewer", loaded: true } });
    const path = join(place.cwd, ".agents/agents/doc-reviewer.md");
    expect(readFileSync(path, "utf8")).toBe(
      `---\nname: doc-reviewer\ndescription: ${draft.description}\ntools: Read, Grep, Bash(git diff *)\nmodel: small\npermissionMode: plan\n---\n\n${draft.prompt}\n`,
    );
    expect(readdirSync(dirname(path))).toEqual(["doc-reviewer.md"]);
    const { text = "", hash } = (await server.send("GET", "/agent/doc-reviewer")).json as AgentReport;
    expect(hash).toBe((created.json as WrittenAgent).hash);
    const change = (body: unknown) => server.send("POST", "/agent/doc-reviewer/file", { body });
    const next = text.replace("Reads only.", "Never edits.");
    expect(await change({ text: next, hash })).toMatchObject({ status: 200 });
    expect(readFileSync(path, "utf8")).toBe(next);
    expect(await change({ text, hash })).toMatchObject({ status: 409, json: { code: "conflict" } });
    const { hash: newer } = (await server.send("GET", "/agent/doc-reviewer")).json as AgentReport;
    expect(await change({ text: next.replace("name: doc-reviewer", "name: other"), hash: newer })).toMatchObject({
      status: 422,
      json: { detail: expect.stringContaining('The name must stay "doc-reviewer"') },
    });
    expect(await change({ text: "No frontmatter.", hash: newer })).toMatchObject({ status: 422 });
    expect(readFileSync(path, "utf8")).toBe(next);
  });

  it("are written but not loaded in a directory that is not trusted", async () => {
    const place = newPlace();
    const server = await startServer({ place });
    expect(await server.send("POST", "/agent", { body: { draft } })).toMatchObject({
      status: 201,
      json: { loaded: false },
    });
    expect((await server.send("GET", "/agent/doc-reviewer")).status).toBe(404);
    expect(await server.send("POST", "/agent", { body: { draft } })).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining(".agents/agents/doc-reviewer.md already exists") },
    });
  });
});

describe("attacks on agent files", () => {
  it("a token that agents' commands may know can't be used to write them or read their text", async () => {
    const place = await trusted({ ".agents/agents/mine.md": file("name: mine\ndescription: Reviews.") });
    const server = await startServer({ place });
    const { token } = JSON.parse(readFileSync(server.file, "utf8")) as { token: string };
    const headers = { Authorization: `Bearer ${token}` };
    expect((await server.send("POST", "/agent", { headers, body: { draft } })).status).toBe(403);
    const report = (await server.send("GET", "/agent/mine", { headers })).json as AgentReport;
    expect([report.text, report.hash]).toEqual([undefined, undefined]);
    const { hash = "", text = "" } = (await server.send("GET", "/agent/mine")).json as AgentReport;
    const body = { text, hash };
    expect((await server.send("POST", "/agent/mine/file", { headers, body })).status).toBe(403);
    const worker = { Authorization: `Bearer ${server.workerToken}` };
    expect((await server.send("POST", "/agent/check", { headers: worker, body: { draft } })).status).toBe(403);
    expect(readdirSync(join(place.cwd, ".agents/agents"))).toEqual(["mine.md"]);
  });

  it.each([
    "../evil",
    "..",
    ".hidden",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "a.md",
    "a\u0000",
    "a\nb",
    "",
    "-rf",
    "ｅvil",
    "x".repeat(65),
  ])("the name %j is refused", async (name) => {
    const place = newPlace();
    const server = await startServer({ place });
    const answer = await server.send("POST", "/agent", { body: { draft: { ...draft, name } } });
    expect(answer).toMatchObject({ status: 400, json: { code: "invalid_request" } });
    expect(existsSync(join(place.cwd, ".agents"))).toBe(false);
  });

  it.each([
    ["hooks", { hooks: { PreToolUse: [] } }],
    ["mcpServers", { mcpServers: {} }],
    ["file", { file: "/etc/passwd" }],
    ["source", { source: "user" }],
  ])("a draft can't have the field %s", async (_, extra) => {
    const server = await startServer();
    const answer = await server.send("POST", "/agent", { body: { draft: { ...draft, ...extra } } });
    expect(answer.status).toBe(400);
  });

  it("a value can't add fields to the frontmatter", async () => {
    const place = await trusted();
    const server = await startServer({ place });
    const description = "Reviews.\npermissionMode: bypassPermissions\n---\nhooks:";
    const tools = ["Read", "Grep\nhooks: {}\n---", '"]\npermissionMode: acceptEdits'];
    const model = "small\npermissionMode: bypassPermissions";
    await server.send("POST", "/agent", { body: { draft: { name: "sly", description, tools, model } } });
    const text = readFileSync(join(place.cwd, ".agents/agents/sly.md"), "utf8");
    expect(text.split("\n---\n")[0]?.split("\n")).toHaveLength(5);
    const report = (await server.send("GET", "/agent/sly")).json as AgentReport;
    expect(report).toMatchObject({ mode: "default", hooks: [] });
    expect(report.permissionMode).toBeUndefined();
  });

  it("files are not written through symlinks, or outside the directory", async () => {
    const place = await trusted({ "kept/victim.md": file("name: victim\ndescription: Reviews.") });
    const server = await startServer({ place });
    const outside = join(place.root, "outside");
    mkdirSync(outside);
    mkdirSync(join(place.cwd, ".agents"));
    symlinkSync(outside, join(place.cwd, ".agents/agents"));
    const through = await server.send("POST", "/agent", { body: { draft } });
    expect(through).toMatchObject({ status: 422, json: { detail: expect.stringContaining("link") } });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("a file that is a symlink is neither read as text nor replaced", async () => {
    const place = await trusted({ "kept/victim.md": file("name: victim\ndescription: Reviews.") });
    mkdirSync(join(place.cwd, ".agents/agents"), { recursive: true });
    symlinkSync(join(place.cwd, "kept/victim.md"), join(place.cwd, ".agents/agents/victim.md"));
    symlinkSync(join(place.root, "nowhere.md"), join(place.cwd, ".agents/agents/doc-reviewer.md"));
    const server = await startServer({ place });
    const report = (await server.send("GET", "/agent/victim")).json as AgentReport;
    expect(report).toMatchObject({ name: "victim" });
    expect(report.text).toBeUndefined();
    const body = { text: file("name: victim\ndescription: Reviews all."), hash: "0".repeat(64) };
    expect((await server.send("POST", "/agent/victim/file", { body })).status).toBe(422);
    expect((await server.send("POST", "/agent", { body: { draft } })).status).toBe(422);
    expect(existsSync(join(place.root, "nowhere.md"))).toBe(false);
    expect(readFileSync(join(place.cwd, "kept/victim.md"), "utf8")).toContain("Reviews.\n");
  });

  it("agents from outside the directory can't be changed", async () => {
    const place = await trusted();
    mkdirSync(join(place.root, ".agents/agents"), { recursive: true });
    writeFileSync(join(place.root, ".agents/agents/own.md"), file("name: own\ndescription: Reviews."));
    const server = await startServer({ place });
    for (const name of ["Explore", "own", "nothing"]) {
      const body = { text: file(`name: ${name}\ndescription: x`), hash: "0".repeat(64) };
      expect((await server.send("POST", `/agent/${name}/file`, { body })).status).toBe(422);
    }
    const encoded = await server.send("POST", "/agent/..%2F..%2Fown/file", {
      body: { text: "x", hash: "0".repeat(64) },
    });
    expect(encoded.status).toBeGreaterThanOrEqual(400);
    expect(readFileSync(join(place.root, ".agents/agents/own.md"), "utf8")).toContain("Reviews.");
  });
});
