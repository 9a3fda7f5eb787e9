import type { CompiledPolicy } from "./compile-policy.ts";
import { hostOf, matchDomain } from "./domain-pattern.ts";
import { builtin, byVerdict, type Finding } from "./finding.ts";
import { weighRules } from "./weigh-rules.ts";

export function judgeNetwork(toolName: string, url: string, compiled: CompiledPolicy): Finding {
  const host = hostOf(url);
  if (host === undefined) return builtin("deny", "malformed address", "Only http and https addresses can be fetched.");
  const verdict = weighRules(
    compiled,
    ({ coversTool, target }) =>
      coversTool(toolName) &&
      (target.kind === "whole" || (target.kind === "domain" && matchDomain(target.pattern, url))),
  );
  if (verdict !== undefined) return byVerdict(verdict, host);
  return builtin("open", "network", `No rule allows fetching from ${host}.`);
}
