import { nearest } from "../../lib/index.ts";

/** Every field of an agent definition with its other names; spelling in camelCase, kebab-case or snake_case does not matter. */
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
  /** The field a key means, if it is one of ours. */
  resolve(key: string): Name | undefined;
  nearest(key: string): Name | undefined;
}

export const agentFieldNames = fieldNames<AgentField>(agentFields);
export const skillFieldNames = fieldNames<SkillField>(skillFields);

function fieldNames<Name extends string>(table: Readonly<Record<Name, readonly string[]>>): FieldNames<Name> {
  const byFolded = new Map<string, Name>();
  const names = Object.keys(table) as Name[];
  for (const name of names) for (const other of [name, ...table[name]]) byFolded.set(fold(other), name);
  // The same keys come back in file after file, and both answers take a while to find.
  const known = new Map<string, Name | undefined>();
  const guesses = new Map<string, Name | undefined>();
  return {
    resolve(key) {
      const exact = byFolded.get(key);
      if (exact !== undefined) return exact;
      if (known.has(key)) return known.get(key);
      const name = byFolded.get(fold(key));
      if (known.size < maxRemembered) known.set(key, name);
      return name;
    },
    nearest(key) {
      if (key.length < 3) return undefined;
      if (guesses.has(key)) return guesses.get(key);
      const name = nearest(key, names)[0] as Name | undefined;
      if (guesses.size < maxRemembered) guesses.set(key, name);
      return name;
    },
  };
}

const maxRemembered = 1000;

function fold(key: string): string {
  return key.replace(/[-_]/g, "").toLowerCase();
}
