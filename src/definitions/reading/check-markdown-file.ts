import path from "node:path";
import type { AgentDefinition, Diagnostic, JsonValue } from "../../protocol/index.ts";
import { type DefinitionFile, readAgentFile } from "./read-agent.ts";
import { readSkillFile } from "./read-skill.ts";

/**
 * Output of `retinue agents check --jsonl` for one Markdown file. Tools and model are as written in the file, or null
 * if missing.
 */
export interface CheckedFile {
  readonly kind: "agent" | "skill";
  readonly loaded: boolean;
  readonly name: string | null;
  readonly description: string | null;
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[] | null;
  readonly model: JsonValue;
  readonly diagnostics: readonly Diagnostic[];
}

/** A checked file with the agent that it defines, which is not part of the output. */
export interface CheckedDefinition extends CheckedFile {
  readonly definition?: AgentDefinition | undefined;
}

/** Reads SKILL.md as a skill and any other Markdown file as an agent. */
export async function checkMarkdownFile(request: DefinitionFile): Promise<CheckedDefinition> {
  if (path.basename(request.file).toLowerCase() === "skill.md") return checkSkill(request);
  const { definition, diagnostics, written } = await readAgentFile(request);
  return {
    kind: "agent",
    loaded: definition !== undefined,
    name: definition?.name ?? null,
    description: definition?.description ?? null,
    ...written,
    diagnostics,
    definition,
  };
}

async function checkSkill(request: DefinitionFile): Promise<CheckedFile> {
  const { definition, diagnostics } = await readSkillFile(request);
  return {
    kind: "skill",
    loaded: definition !== undefined,
    name: definition?.name ?? null,
    description: definition?.description ?? null,
    tools: definition?.allowedTools ?? null,
    disallowedTools: null,
    model: definition?.extra?.["model"] ?? null,
    diagnostics,
  };
}
