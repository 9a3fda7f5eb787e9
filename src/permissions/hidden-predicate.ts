import type { Policy } from "../protocol/index.ts";
import { type CompiledRule, compilePolicy } from "./compile-policy.ts";
import type { PathMatcher } from "./path-pattern.ts";
import { lastMatch } from "./weigh-rules.ts";

/** For absolute paths: true where a deny rule for reading hides the file from listings and searches. */
export function hiddenPredicate(policy: Policy, homes: readonly string[] = []): (absolutePath: string) => boolean {
  const { vetoes, filed, layers } = compilePolicy(policy, homes);
  const denied = vetoes.flatMap((rule) => readMatcher(rule) ?? []);
  const ordered = [filed, ...layers.map(({ rules }) => rules)].filter((rules) =>
    rules.some((rule) => rule.rule.effect === "deny" && readMatcher(rule) !== undefined),
  );
  if (denied.length === 0 && ordered.length === 0) return () => false;
  return (absolutePath) =>
    denied.some((matches) => matches(absolutePath)) ||
    ordered.some((rules) => {
      const last = lastMatch(rules, (rule) => readMatcher(rule)?.(absolutePath) === true);
      return last?.rule.effect === "deny";
    });
}

function readMatcher({ target }: CompiledRule): PathMatcher | undefined {
  return target.kind === "path" && target.touches === "read" ? target.matches : undefined;
}
