import { efforts, permissionModes } from "../../protocol/index.ts";
import {
  aBoolean,
  aCount,
  aFunction,
  anArray,
  anObject,
  aString,
  checkNames,
  checkOptions,
  either,
  type OptionType,
  type OptionTypes,
  oneOf,
  optional,
  strings,
} from "../check-options.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Throws a `UserError` if an option of `defineAgent` is unknown or has the wrong type. */
export function checkAgentOptions(options: AgentOptions): void {
  checkNames("defineAgent", options, otherNames);
  checkOptions("defineAgent", options, types);
}

/** Names that other libraries use for agent options. */
const otherNames = {
  name: "The key in the agents option of openSession is the agent's name.",
  instructions: "Use prompt.",
  systemPrompt: "Use prompt.",
  system: "Use prompt.",
  handoffDescription: "Use description.",
  handoffs: "An agent can start other agents if it has the Task tool.",
  outputType: "Use `output` with a prompt, or in the options of `session.subagents.start`.",
  maxSteps: "Use maxTurns.",
  stopWhen: "Use maxTurns.",
};

const aText: OptionType = { accepts: (value) => typeof value === "string", description: "a string" };

const toolNames: OptionType = {
  ...strings,
  description: "an array of tool names; your own tools belong in the tools option of openSession",
};

const types: OptionTypes<AgentOptions> = {
  description: aString,
  prompt: either(aString, aFunction),
  tools: optional(toolNames),
  disallowedTools: optional(strings),
  requiredTools: optional(strings),
  model: optional(aString),
  effort: optional(oneOf(efforts)),
  permissionMode: optional(oneOf(permissionModes)),
  permission: optional(either(oneOf(["allow", "ask", "deny"]), anObject)),
  maxTurns: optional(aCount),
  timeout: optional({
    accepts: (value) => typeof value === "number" || aString.accepts(value),
    description: "a number of seconds, or a duration such as 5m",
  }),
  contextTokens: optional(aCount),
  budget: optional(anObject),
  acceptance: optional(aString),
  outputSchema: optional(anObject),
  color: optional(aString),
  background: optional(aBoolean),
  memory: optional(oneOf(["user", "project", "local"])),
  skills: optional(strings),
  mcpServers: optional(anArray),
  hooks: optional(anObject),
  isolation: optional(oneOf(["worktree"])),
  omitProjectContext: optional(aBoolean),
  forkContext: optional(aBoolean),
  criticalReminder: optional(aText),
  initialPrompt: optional(aText),
  hidden: optional(aBoolean),
  callback: optional(aFunction),
};
