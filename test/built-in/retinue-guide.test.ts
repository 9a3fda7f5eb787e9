import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { explainCall } from "../../src/app/index.ts";
import { performTask, toolNames } from "./perform-task.ts";

const docs = resolve(import.meta.dirname, "../../docs");

describe("retinue-guide", () => {
  it("finds and reads the package's documentation outside the workspace", async () => {
    const { outcomes, results } = await performTask({
      agent: "retinue-guide",
      say: "How do I allow a command?",
      steps: [
        {
          calls: [
            { name: "Glob", input: { pattern: "*.md", path: docs } },
            { name: "Grep", input: { pattern: "allowed-tools", path: docs } },
            { name: "Read", input: { file_path: join(docs, "permissions.md") } },
          ],
        },
        { text: "With --allowed-tools (docs/permissions.md)." },
      ],
    });
    expect(outcomes).toEqual(["ok", "ok", "ok"]);
    for (const page of readdirSync(docs).filter((name) => name.endsWith(".md"))) expect(results[0]).toContain(page);
  });

  it("has read-only tools and a small model, and never asks", async () => {
    const done = await performTask({ agent: "claude-code-guide", say: "Hello?", steps: [{ text: "Hello." }] });
    expect(toolNames(done)).toEqual(["Read", "Grep", "Glob", "WebFetch"]);
    expect(done.started).toMatchObject({ agentType: "retinue-guide", permissionMode: "dontAsk" });
    expect(done.head.system).toContain(docs);
  });

  it("sees the user's settings without secrets, and can't read the state directory", async () => {
    const settings = {
      maxTurns: 20,
      env: { DATABASE_URL: "hush-1", EDITOR: "hush-2" },
      providers: { anthropic: { apiKey: "hush-3", baseUrl: "https://me:hush-4@proxy.example.com/v1" } },
      mcpServers: {
        db: { command: "db", args: ["--key", "sk-hush-5"], env: { X: "hush-6" }, headers: { A: "hush-7" } },
      },
    };
    const { outcomes, home, head } = await performTask({
      agent: "retinue-guide",
      say: "Which model do I use?",
      files: {
        "../home/settings.json": `// hush-8\n${JSON.stringify(settings)}`,
        "../home/trust.json": '{"version":1,"trusted":[]}',
      },
      steps: [
        {
          calls: [
            { name: "Read", input: { file_path: "../home/settings.json" } },
            { name: "Read", input: { file_path: "../home/trust.json" } },
          ],
        },
        { text: "The default." },
      ],
    });
    expect(existsSync(join(home, "settings.json"))).toBe(true);
    expect(outcomes).toEqual(["denied", "denied"]);
    expect(head.system).toContain('"maxTurns": 20');
    expect(head.system).toContain("https://…@proxy.example.com/v1");
    expect(head.system).not.toContain("hush");
  });

  it("can fetch the providers' documentation that its prompt names, and no other site", async () => {
    const { head, home, cwd } = await performTask({
      agent: "retinue-guide",
      say: "Hello?",
      steps: [{ text: "Hello." }],
    });
    const effect = async (agent: string, url: string, deny: readonly string[] = []) => {
      writeFileSync(join(home, "settings.json"), JSON.stringify({ permissions: { deny } }));
      const catalog = { cwd, home, environment: { HOME: join(home, "..") }, trust: false };
      return (await explainCall({ agent, call: `WebFetch(${url})`, catalog })).unattended.effect;
    };
    const [, sites = ""] = /You can fetch ([^;]+) over https;/.exec(head.system) ?? [];
    expect(sites.split(", ").length).toBeGreaterThan(3);
    for (const site of sites.split(", ")) {
      expect(await effect("retinue-guide", `https://${site}/docs`)).toBe("allow");
      expect(await effect("main", `https://${site}/docs`)).toBe("deny");
      for (const url of [`http://${site}/docs`, `https://${site}:8443/docs`])
        expect(await effect("retinue-guide", url)).toBe("deny");
    }
    expect(await effect("retinue-guide", "https://example.com/docs")).toBe("deny");
    expect(await effect("retinue-guide", "https://ai.google.dev/docs", ["WebFetch"])).toBe("deny");
  });

  it("is denied anything that needs approval, without an approval request", async () => {
    const asked: string[] = [];
    const { outcomes } = await performTask({
      agent: "retinue-guide",
      say: "What does this page say?",
      approvals: {
        ask: async ({ call }) => {
          asked.push(call.name);
          return { answer: "allow", by: "test" };
        },
      },
      steps: [
        {
          calls: [
            { name: "WebFetch", input: { url: "https://example.invalid/", prompt: "?" } },
            { name: "Read", input: { file_path: "/etc/hostname" } },
          ],
        },
        { text: "I could not open either." },
      ],
    });
    expect(outcomes).toEqual(["denied", "denied"]);
    expect(asked).toEqual([]);
  });

  it("reads the workspace's configuration and changes nothing in it", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "retinue-guide",
      say: "Why is my agent not loaded? Fix it.",
      files: { ".claude/agents/a.md": "---\nname: a\n---\nDo.\n" },
      steps: [
        { calls: [{ name: "Read", input: { file_path: ".claude/agents/a.md" } }] },
        {
          calls: [
            { name: "Write", input: { file_path: "b.md", content: "x" } },
            { name: "Bash", input: { command: "touch ran.txt" } },
          ],
        },
        { text: "It has no description; I can't change it." },
      ],
    });
    expect(outcomes[0]).toBe("ok");
    expect(outcomes.slice(1)).not.toContain("ok");
    expect(existsSync(join(cwd, "b.md")) || existsSync(join(cwd, "ran.txt"))).toBe(false);
  });

  it("is not available to programs that use Retinue as a library", async () => {
    const task = { agent: "retinue-guide", say: "Hello?", steps: [] };
    await expect(performTask({ ...task, entryPoint: "sdk-ts" })).rejects.toThrow('no agent "retinue-guide"');
    const environment = { PATH: process.env["PATH"], CLAUDE_CODE_ENTRYPOINT: "sdk-py" };
    await expect(performTask({ ...task, environment })).rejects.toThrow('no agent "retinue-guide"');
  });
});
