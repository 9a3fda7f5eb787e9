import { type AgentDefinition, type Policy, toolNames } from "../../protocol/index.ts";
import type { Tier } from "../tools/tiers.ts";
import { resolveSubagent, type SubagentRequest } from "./resolve-subagent.ts";

export const MCP_TOOL = "mcp__db__query";
/** Every tool that Retinue knows by name, and one tool of an MCP server. */
export const everyTool: readonly string[] = [...toolNames, MCP_TOOL];

export const mainPolicy: Policy = {
  mode: "default",
  pool: everyTool,
  rules: [],
  workspaceRoots: ["/work"],
  readableRoots: [],
};

export const foreground: Tier = {
  background: false,
  depth: 1,
  maxDepth: 1,
  mcpTools: "always",
  allowQuestions: false,
  named: false,
};
export const background: Tier = { ...foreground, background: true };

export type Change = Partial<Omit<SubagentRequest, "definition" | "parentPolicy">> & { parentPolicy?: Partial<Policy> };

export function requestFor(definition: Partial<AgentDefinition>, change: Change = {}): SubagentRequest {
  const { parentPolicy, ...rest } = change;
  return {
    definition: { name: "tester", description: "Tests.", source: "project", ...definition },
    prompt: "Test things.",
    parentPolicy: { ...mainPolicy, ...parentPolicy },
    tier: foreground,
    model: { provider: "p", model: "m", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "test",
    tools: everyTool.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
    asked: {},
    settings: {},
    workspaceRoot: "/work",
    additionalDirectories: [],
    readableRoots: [],
    ...rest,
  };
}

export function resolveFor(definition: Partial<AgentDefinition>, change: Change = {}) {
  return resolveSubagent(requestFor(definition, change));
}

export function subagentFor(definition: Partial<AgentDefinition>, change: Change = {}) {
  const resolution = resolveFor(definition, change);
  if (!resolution.ok) throw new Error(resolution.message);
  return resolution;
}

export const poolFor = (definition: Partial<AgentDefinition>, change: Change = {}): readonly string[] =>
  subagentFor(definition, change).agent.policy.pool;
