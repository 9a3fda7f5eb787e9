// Owns: rules and what follows from them: parse, accesses of a call, decide, modes, what is hidden. Pure.
// Does not own: where paths really lead (workspace), asking people (runs), doing anything (hands).
// Called by: hands, agents, runs, app.
export { accesses, pathsOf, RESULT_ADDRESS } from "./accesses.ts";
export { compilePolicy } from "./compile-policy.ts";
export { type DecideRequest, decide } from "./decide.ts";
export { explainDenial, suggestRule } from "./explain-denial.ts";
export { hiddenPredicate } from "./hidden-predicate.ts";
export { mindsHooks } from "./judge-hooks.ts";
export { checkRules, type ParsedRule, parseRule, type RuleProblem } from "./parse-rule.ts";
export { readsOnly } from "./reads-only.ts";
export { type AlwaysPatterns, alwaysPatterns } from "./shell/always-patterns.ts";
export { analyseCommand } from "./shell/analyse-command.ts";
export { isReadOnly } from "./shell/read-only.ts";
export { type Redirection, redirectionsOf, type ShellAnalysis, type SimpleCommand } from "./shell/shell-analysis.ts";
