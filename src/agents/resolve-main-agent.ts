import type { ModelDescription } from "../ports/index.ts";
import {
  canonicalToolName,
  type Effort,
  type Head,
  type PermissionMode,
  type Rule,
  type ToolDeclaration,
} from "../protocol/index.ts";
import { mainPrompt } from "./main-prompt.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";

export interface MainAgentRequest {
  readonly model: ModelDescription;
  readonly requestedModel: string | null;
  readonly modelReason: string;
  readonly maxTokensField?: Head["maxTokensField"];
  readonly effort?: Effort;
  readonly tools: readonly ToolDeclaration[];
  readonly mode: PermissionMode;
  readonly rules: readonly Rule[];
  readonly maxTurns: number;
  /** Absolute real path. */
  readonly workspaceRoot: string;
  readonly additionalDirectories: readonly string[];
  readonly readableRoots: readonly string[];
  readonly platform: string;
}

/** A quarter of a small window, and never more than an answer needs. */
const LONGEST_ANSWER = 32_000;

export function resolveMainAgent(request: MainAgentRequest): ResolvedAgent {
  const { model, rules } = request;
  const removed = new Set(rules.filter(isBareDeny).map((rule) => canonicalToolName(rule.text.trim())));
  const tools = request.tools.filter((tool) => !removed.has(tool.name));
  const head: Head = {
    provider: model.provider,
    model: model.model,
    dialect: model.dialect,
    maxTokens: Math.min(model.maxOutputTokens, LONGEST_ANSWER, Math.floor(model.window / 4)),
    ...(request.maxTokensField ? { maxTokensField: request.maxTokensField } : {}),
    ...(request.effort ? { effort: request.effort } : {}),
    tools,
    system: mainPrompt,
    systemContext: `Workspace: ${request.workspaceRoot}\nPlatform: ${request.platform}`,
    userContext: "",
  };
  return {
    agentType: "main",
    head,
    policy: {
      mode: request.mode,
      pool: tools.map((tool) => tool.name),
      rules,
      workspaceRoots: [request.workspaceRoot, ...request.additionalDirectories],
      readableRoots: request.readableRoots,
    },
    maxTurns: request.maxTurns,
    requestedModel: request.requestedModel,
    modelReason: request.modelReason,
  };
}

/** `Bash` alone takes the tool away; `Bash(rm:*)` leaves it, with a rule. */
function isBareDeny(rule: Rule): boolean {
  return rule.effect === "deny" && !rule.text.includes("(");
}
