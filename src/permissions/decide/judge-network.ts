import { bareHost, checkUrl } from "../../lib/index.ts";
import type { CompiledPolicy } from "../rules/compile-policy.ts";
import { matchDomain } from "../rules/domain-pattern.ts";
import { weighRules } from "../rules/weigh-rules.ts";
import { builtin, byVerdict, type Finding } from "./finding.ts";

export function judgeNetwork(toolName: string, text: string, compiled: CompiledPolicy): Finding {
  const checked = checkUrl(text);
  if (!checked.ok) return builtin("deny", "malformed address", checked.reason);
  const { url } = checked;
  const host = bareHost(url.hostname);
  const verdict = weighRules(
    compiled,
    ({ coversTool, target }) =>
      coversTool(toolName) &&
      (target.kind === "whole" || (target.kind === "domain" && matchDomain(target.pattern, url.href))),
  );
  if (verdict !== undefined && verdict.effect !== "allow") return byVerdict(verdict, host);
  if (verdict?.rule.rule.scope !== "session" && carriesData(url)) {
    return builtin("insist", "data in address", `The address for ${host} carries what looks like a key, or much data.`);
  }
  if (verdict !== undefined) return byVerdict(verdict, host);
  return builtin("open", "network", `No rule allows fetching from ${host}.`);
}

/** Returns true if the URL looks like it carries data, because fetching it sends that data off the machine. */
function carriesData({ pathname, searchParams }: URL): boolean {
  const values = [...searchParams].flat();
  const names = pathname.split("/");
  return (
    [...values, ...names].some((text) => secret.test(text)) ||
    values.some((text) => isOpaque(text, 64)) ||
    names.some((text) => isOpaque(text, 128))
  );
}

/** Common prefixes of API keys, and names of variables that hold them. */
const secret =
  /\b(sk-[\w-]{16}|gh[pousr]_\w{20}|github_pat_|glpat-|AKIA[A-Z0-9]{12}|AIza[\w-]{30}|xox[abprs]-|eyJ[\w-]{10,}\.eyJ)|[A-Z0-9]_(API_?KEY|ACCESS_KEY|SECRET|TOKEN|PASSWORD)|-----BEGIN/;

function isOpaque(text: string, length: number): boolean {
  return text.length >= length && /^[\w+/=.-]+$/.test(text) && !/[-_.]\w{1,15}[-_.]/.test(text);
}
