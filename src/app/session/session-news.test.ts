import { expect, it } from "vitest";
import type { Snapshot } from "../../definitions/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import { createSessionNews } from "./session-news.ts";

it("what a conversation that was made shorter may have lost is told again", async () => {
  const contextFile = { file: "/p/AGENTS.md", source: "project", text: "Use spaces.", version: "2" } as const;
  const snapshot = { agents: [], skills: [], contextFiles: [contextFile] } as unknown as Snapshot;
  const agents: LoadedAgents = { definitions: [], find: () => undefined, nearest: () => [], snapshot };
  let isForgotten = false;
  const news = createSessionNews({
    agents,
    rules: [],
    first: { agents: [], snapshot: undefined },
    wants: { agents: true, skills: "call", context: true },
    hasForgotten: () => isForgotten,
  });
  expect(await news()).toContain("Use spaces.");
  expect(await news()).toBeUndefined();
  isForgotten = true;
  expect(await news()).toContain("Use spaces.");
});
