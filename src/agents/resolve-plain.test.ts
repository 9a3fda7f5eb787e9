import { expect, it } from "vitest";
import { permissionModes } from "../protocol/index.ts";
import { resolveAgent } from "./resolve-agent.ts";
import { resolvePlain } from "./resolve-plain.ts";

const request = {
  model: { provider: "p", model: "m", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
  requestedModel: null,
  modelReason: "test",
  tools: ["Read", "Bash", "Skill"].map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
  absentTools: [{ name: "WebSearch", reason: "No search engine is configured." }],
  settings: { maxTurns: 7 },
  workspaceRoot: "/work",
  additionalDirectories: ["/more"],
  readableRoots: ["/results"],
  platform: "linux",
  projectContext: "Be kind.",
} as const;

it.each([undefined, ...permissionModes])("is what reading everything would give, in mode %s", (mode) => {
  const asked = { mode };
  expect(resolvePlain({ ...request, asked })).toEqual(resolveAgent({ ...request, asked, rules: [] }));
});
