import type { DefinitionSource, Diagnostic } from "../../protocol/index.ts";
import { agentFieldNames } from "./field-names.ts";
import { jsonSyntax } from "./field-reader.ts";
import { type ReadAgent, readAgentFields } from "./read-agent.ts";

export interface JsonOrigin {
  /** Name of the settings file, or `--agents`, for messages. */
  readonly file: string;
  /** Line number of each agent in the settings file, by agent name. */
  readonly lines?: Readonly<Record<string, number>> | undefined;
  readonly source: DefinitionSource;
}

export interface ReadAgents {
  readonly agents: readonly ReadAgent[];
  /** Diagnostics about the value as a whole. Each agent also has its own diagnostics. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads the value of `--agents` or of the `agents` key in the settings: a mapping from name to fields, including
 * `prompt`.
 */
export function readAgentJson(value: unknown, origin: JsonOrigin): ReadAgents {
  if (!isMapping(value)) return { agents: [], diagnostics: [notAMapping(origin, "The agents")] };
  const agents: ReadAgent[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const [name, fields] of Object.entries(value)) {
    if (isMapping(fields)) agents.push(readOne(name, fields, origin));
    else diagnostics.push(notAMapping(origin, `Agent "${name.slice(0, 60)}"`));
  }
  return { agents, diagnostics };
}

function readOne(name: string, value: Readonly<Record<string, unknown>>, origin: JsonOrigin): ReadAgent {
  const { file, source } = origin;
  const line = origin.lines?.[name] ?? 1;
  const fields = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => ({ key, value: item, line }));
  const diagnostics: Diagnostic[] = [];
  const prompt = fields.find((field) => agentFieldNames.resolve(field.key) === "prompt")?.value;
  const body = () => (typeof prompt === "string" ? prompt : "");
  const read = readAgentFields({
    fields,
    file,
    source,
    defaultName: () => name,
    diagnostics,
    body,
    syntax: jsonSyntax,
  });
  if (typeof prompt !== "string")
    diagnostics.push({
      severity: "warning",
      file,
      line,
      code: "no_prompt",
      message: 'There is no "prompt", so the agent has no instructions of its own.',
      fix: 'Add "prompt": "You ...".',
    });
  // All agents share one file, so each message must name its agent.
  const prefix = nameIn(origin, name);
  const agent = read.definition?.name ?? name;
  return {
    ...read,
    diagnostics: diagnostics.map((each) => ({ ...each, agent, message: `${prefix}: ${each.message}` })),
  };
}

/** Returns the name of an agent for messages; in a settings file, its key. */
function nameIn({ lines }: JsonOrigin, name: string): string {
  return lines === undefined ? `Agent "${name.slice(0, 60)}"` : `agents.${name.slice(0, 60)}`;
}

function notAMapping({ file }: JsonOrigin, subject: string): Diagnostic {
  return {
    severity: "error",
    file,
    line: 1,
    code: "not_a_mapping",
    message: `${subject} can't be loaded: the value must be a JSON object.`,
    fix: 'Write {"name": {"description": "...", "prompt": "..."}}.',
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
