import type { AgentDefinition, DefinitionSource, Effect, Rule, RuleScope } from "../protocol/index.ts";

/** A rule that comes with a definition, as trustworthy as the place the definition is from. */
export function ruleOf({ source, file }: AgentDefinition, text: string, effect: Effect): Rule {
  return { text, effect, scope: scopes[source], ...(file === undefined ? {} : { file }) };
}

const scopes: Record<DefinitionSource, RuleScope> = {
  "built-in": "builtin",
  plugin: "project",
  user: "user",
  project: "project",
  flag: "flag",
  policy: "managed",
};
