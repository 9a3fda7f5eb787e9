import type { DefinitionSource, Diagnostic } from "../../protocol/index.ts";
import { agentFieldNames } from "./field-names.ts";
import { jsonSyntax } from "./field-reader.ts";
import { type ReadAgent, readAgentFields } from "./read-agent.ts";

export interface JsonOrigin {
  /** A settings file or `--agents`, for messages. */
  readonly file: string;
  readonly source: DefinitionSource;
}

export interface ReadAgents {
  readonly agents: readonly ReadAgent[];
  /** Diagnostics about the value as a whole. Each agent has its own. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the value of `--agents` or of the settings key `agents`: a mapping from name to fields, including `prompt`. */
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

function readOne(name: string, value: Readonly<Record<string, unknown>>, { file, source }: JsonOrigin): ReadAgent {
  const fields = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => ({ key, value: item, line: 1 }));
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
      line: 1,
      code: "no_prompt",
      message: `Agent "${name.slice(0, 60)}" has no "prompt", so it has no instructions of its own.`,
      fix: 'Add "prompt": "You ...".',
    });
  return { ...read, diagnostics: diagnostics.map(withName(name)) };
}

/** Adds the agent to each message, because all agents share one file and line. */
function withName(name: string): (diagnostic: Diagnostic) => Diagnostic {
  const prefix = `Agent "${name.slice(0, 60)}"`;
  return (diagnostic) =>
    diagnostic.message.startsWith(prefix) ? diagnostic : { ...diagnostic, message: `${prefix}: ${diagnostic.message}` };
}

function notAMapping({ file }: JsonOrigin, subject: string): Diagnostic {
  return {
    severity: "error",
    file,
    line: 1,
    code: "not_a_mapping",
    message: `${subject} must be a JSON object; it is not, so nothing of it is loaded.`,
    fix: 'Write {"name": {"description": "...", "prompt": "..."}}.',
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
