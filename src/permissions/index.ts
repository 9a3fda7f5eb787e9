// Owns: permission rules and modes, what a call would access, decisions on calls, hidden paths. All functions are pure.
// Does not own: resolving paths (workspace), asking people (runs), running tools (executor).
// Called by: executor, agents, runs, app.
export { accesses, pathsOf, pendingPatterns, readsOnly, withExpansions } from "./decide/accesses.ts";
export { decide } from "./decide/decide.ts";
export { explainDenial, explainRefusal, suggestRule } from "./decide/explain-denial.ts";
export { PLAN_APPROVAL } from "./decide/finding.ts";
export { dependsOnGit, gitDirectories, mayPrintTracked } from "./decide/judge-git.ts";
export { deniedPlaces, hiddenPredicate, namedPlaces, restrictedPredicate } from "./decide/judge-path.ts";
export { alwaysPatterns } from "./rules/always-patterns.ts";
export { checkRules, invalidRule, parseRule } from "./rules/parse-rule.ts";
export { holdsInstructions, protectedPart } from "./rules/protected-path.ts";
