import { misspelledName } from "../../lib/index.ts";

/** Fields of an agent definition with their aliases. camelCase, kebab-case and snake_case are equivalent. */
const agentFields = {
  name: ["agentType"],
  description: ["whenToUse"],
  tools: ["allowedTools"],
  disallowedTools: [],
  requiredTools: [],
  model: [],
  effort: [],
  permissionMode: [],
  permission: [],
  maxTurns: ["maxSteps", "steps", "maxIterationPerRun"],
  timeout: [],
  contextTokens: [],
  budget: [],
  acceptance: [],
  outputSchema: [],
  color: [],
  background: ["isBackground"],
  memory: [],
  skills: [],
  mcpServers: [],
  hooks: [],
  isolation: ["isolationMode"],
  omitProjectContext: ["omitClaudeMd"],
  forkContext: [],
  criticalReminder: ["criticalSystemReminder_EXPERIMENTAL"],
  initialPrompt: [],
  prompt: [],
  mode: [],
  hidden: [],
  disable: ["disabled"],
  timeoutMins: [],
  approvalMode: [],
  readonly: [],
} as const satisfies Record<string, readonly string[]>;

/**
 * Names of fields that restrict an agent. A misspelled one must not be ignored, because the agent would have more
 * rights.
 */
const restrictingNames = [
  "tools",
  "allowedTools",
  "disallowedTools",
  "requiredTools",
  "permissionMode",
  "permission",
  "approvalMode",
  "readonly",
  "maxTurns",
  "budget",
  "hooks",
  "isolation",
  "disable",
];

const skillFields = {
  name: [],
  description: [],
  license: [],
  compatibility: [],
  metadata: [],
  allowedTools: ["tools"],
  whenToUse: [],
  argumentHint: [],
  arguments: [],
  disableModelInvocation: [],
  userInvocable: [],
  disallowedTools: [],
  model: [],
  effort: [],
  context: [],
  agent: [],
  background: [],
  hooks: [],
  paths: [],
  shell: [],
} as const satisfies Record<string, readonly string[]>;

export type AgentField = keyof typeof agentFields;
export type SkillField = keyof typeof skillFields;

export interface FieldNames<Name extends string> {
  /** Returns the field that a key refers to; undefined for an unknown key. */
  resolve(key: string): Name | undefined;
  /** Returns the field that an unknown key misspells. */
  misspelled(key: string): string | undefined;
  /** Returns the restricting field that an unknown key misspells. */
  misspelledRestriction(key: string): string | undefined;
}

export const agentFieldNames = fieldNames<AgentField>(agentFields, restrictingNames);
export const skillFieldNames = fieldNames<SkillField>(skillFields, ["allowedTools", "disableModelInvocation"]);

function fieldNames<Name extends string>(
  table: Readonly<Record<Name, readonly string[]>>,
  restricting: readonly string[] = [],
): FieldNames<Name> {
  const byFolded = new Map<string, Name>();
  const names = Object.keys(table) as Name[];
  for (const name of names) for (const other of [name, ...table[name]]) byFolded.set(fold(other), name);
  return {
    resolve: (key) => byFolded.get(fold(key)),
    misspelled: (key) => misspelledName(key, names),
    misspelledRestriction: (key) => misspelledName(key, restricting),
  };
}

function fold(key: string): string {
  return key.replace(/[-_]/g, "").toLowerCase();
}
