import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SnapshotRequest } from "../ports/index.ts";
import type { ProjectSnapshot } from "../protocol/index.ts";
import { createTrustStore } from "../settings/index.ts";
import { createLocalWorker } from "./local-worker.ts";

const agent = (body: string) => `---\nname: poet\ndescription: Writes verse.\n---\n${body}\n`;

function createPlace(files: Readonly<Record<string, string>>) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-snapshots-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  mkdirSync(join(root, "work"));
  mkdirSync(join(root, "state"));
  for (const [name, text] of Object.entries(files)) write(name, text);
  const home = join(root, "state");
  const clock = { now: () => 0, monotonic: () => 0 };
  const worker = createLocalWorker({
    ...{ root: join(root, "work"), home, state: home, environment: { HOME: join(root, "user") } },
    ...{ clock, version: "0", report: () => undefined },
  });
  const read = async (request: Partial<SnapshotRequest> = {}): Promise<ProjectSnapshot> => {
    const answer = await worker.snapshot({ trusted: true, required: false, ...request });
    if (!answer.changed) throw new Error("The snapshot has not changed.");
    return answer.snapshot;
  };
  const trust = () => createTrustStore({ stateHome: home }).add(join(root, "work"));
  return { root, worker, write, read, trust };
}

const files = {
  "work/.agents/agents/poet.md": agent("You rhyme."),
  "work/.agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys.\n---\nShip it.\n",
  "work/AGENTS.md": "Use tabs.",
  "state/settings.json": '{"providers": {"x": {"apiKey": "sk-secret"}}}',
};

describe("a snapshot", () => {
  it("is complete as JSON, and contains no secrets", async () => {
    const { root, read } = createPlace(files);
    const snapshot = await read({ additionalDirectories: [root, join(root, "missing")] });
    const text = JSON.stringify(snapshot);
    expect(JSON.parse(text)).toMatchObject({
      agents: [{ definition: { name: "poet" }, body: "You rhyme.\n", version: expect.stringMatching(/^\w{32}$/) }],
      skills: [{ definition: { name: "deploy" }, body: "Ship it.\n" }],
      contextFiles: [{ text: "Use tabs." }],
      trustedRoot: join(root, "work"),
      additionalDirectories: [root],
      stateInWorkspace: join(root, "state"),
      skillRoots: [join(root, "work/.agents/skills/deploy")],
      settingsText: expect.stringContaining('"apiKey": "…"'),
      hash: snapshot.hash,
    });
    expect(text).not.toContain("sk-secret");
  });

  it("is not sent again until something has changed", async () => {
    const { read, worker, write } = createPlace(files);
    const { hash: known } = await read();
    const request = { trusted: true, required: false, known };
    expect(await worker.snapshot(request)).toEqual({ changed: false });
    write("work/.agents/agents/poet.md", agent("You rhyme badly."));
    expect((await read(request)).agents[0]?.body).toBe("You rhyme badly.\n");
    write("work/.agents/agents/poet.md", files["work/.agents/agents/poet.md"]);
    expect(await worker.snapshot(request)).toEqual({ changed: false });
  });

  it("changes when trust or the user's settings change, not only when definitions do", async () => {
    const { read, write, trust } = createPlace(files);
    const request = { trusted: false, required: true };
    const untrusted = await read(request);
    expect(untrusted.agents).toEqual([]);
    expect(untrusted.off).toContain(".agents/agents");
    await trust();
    const trusted = await read({ ...request, known: untrusted.hash });
    expect(trusted.agents).toHaveLength(1);
    write("state/settings.json", "{}");
    expect((await read({ ...request, known: trusted.hash })).settingsText).not.toContain("apiKey");
  });

  it("keeps the last good version of a half-written file, as long as the worker remembers it", async () => {
    const { read, write, root } = createPlace(files);
    const first = await read();
    write("work/.agents/agents/poet.md", "---\nname: poet\ndescription: [");
    const second = await read({ known: first.hash });
    expect(second.agents[0]?.body).toBe("You rhyme.\n");
    expect(second.diagnostics.map(({ code }) => code)).toContain("kept_last_good");
    expect((await read({ known: "unknown" })).unloaded).toEqual([{ file: join(root, "work/.agents/agents/poet.md") }]);
  });
});

describe("settings", () => {
  it("are plain data, and problems are reported instead of thrown", async () => {
    const { worker, write } = createPlace({
      "work/.retinue/settings.json": '{"agents": {"poet": {"description": "Writes.", "prompt": "Rhyme."}}}',
    });
    const settings = await worker.settings({ trust: true });
    expect(settings).toMatchObject({ trusted: true, agents: { definitions: [{ source: "project" }] } });
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
    write("state/settings.json", "{");
    expect((await worker.settings({ trust: false })).problems).toHaveLength(1);
  });
});
