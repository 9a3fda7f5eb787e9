import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLocalWorker } from "../../worker/index.ts";
import { createOwnContext } from "../opening/session-context.ts";
import { loadAgents } from "./load-agents.ts";

it("applies an administrator's settings to built-in agents, even if no files are read", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-load-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const own = createOwnContext({ home: join(root, "state"), environment: { HOME: root } });
  const report = () => undefined;
  const worker = createLocalWorker({ ...own, root, state: own.home, version: "0", report });
  const context = { ...own, cwd: root, facts: worker.describe() };
  const modelOfExplore = async (scope: "managed" | "user") => {
    const catalogSettings = {
      settings: {},
      agents: { definitions: [], directories: "first", replaceBuiltIns: [], switchedOff: [] },
      origins: [{ path: "model", value: "opus", scope, file: "settings.json" }],
    } as const;
    const { agents } = await loadAgents({ catalogSettings, trusted: false }, context, { worker, before: undefined });
    return (await agents.find("Explore"))?.definition.model;
  };
  expect(await modelOfExplore("user")).toBe("small");
  expect(await modelOfExplore("managed")).toBeUndefined();
});
