import { expect, it } from "vitest";
import type { Snapshot } from "../../protocol/index.ts";
import { createContextUpdates } from "./context-updates.ts";

it("repeats updates that a compacted conversation may have lost", async () => {
  const contextFile = { file: "/p/AGENTS.md", source: "project", text: "Use spaces.", version: "2" } as const;
  let snapshot: Snapshot | undefined;
  const agents = {
    definitions: [],
    find: async () => undefined,
    nearest: () => [],
    get snapshot() {
      return snapshot;
    },
    reload: async () => {
      snapshot = { agents: [], skills: [], contextFiles: [contextFile] } as unknown as Snapshot;
    },
  };
  let floor = 0;
  const update = createContextUpdates({
    main: { agents },
    policy: { pool: ["Task"], rules: [] },
    contextFloor: () => floor,
  });
  expect((await update()).text).toContain("Use spaces.");
  expect((await update()).text).toBeUndefined();
  floor = 3;
  expect((await update()).text).toContain("Use spaces.");
});
