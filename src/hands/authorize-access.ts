import type { Access, Decision, Policy, ResolvedPath } from "../protocol/index.ts";
import { type JudgedCall, judgeAccesses, type Place } from "./judge-call.ts";

export interface Authority {
  readonly toolName: string;
  readonly policy: Policy;
  /** What was judged before the call. */
  readonly judged: JudgedCall;
  /** Somebody allowed the call; this covers what was judged then, and nothing the call turned into. */
  readonly granted: boolean;
}

/** The answer to a tool that found out more about what it touches. */
export async function authorizeAccess(access: Access, authority: Authority, place: Place): Promise<Decision> {
  const { toolName, policy, judged, granted } = authority;
  const { decision, resolved } = await judgeAccesses({ toolName, accesses: [access], policy }, place);
  if (decision.effect !== "ask" || !granted || !isCovered(access, resolved[0], judged)) return decision;
  return {
    effect: "allow",
    rule: "granted call",
    scope: "session",
    reason: "It is part of the call that was allowed.",
  };
}

function isCovered(access: Access, place: ResolvedPath | undefined, judged: JudgedCall): boolean {
  let path = 0;
  for (const known of judged.accesses) {
    const knownPlace = "path" in known ? judged.resolved[path++] : undefined;
    if ("path" in known && "path" in access) {
      if (
        place !== undefined &&
        knownPlace !== undefined &&
        coversPath(known, knownPlace.real, { access, real: place.real })
      )
        return true;
    } else if (known.kind === "network" && access.kind === "network") {
      if (originOf(known.url) !== undefined && originOf(known.url) === originOf(access.url)) return true;
    } else if (known.kind === "command" && access.kind === "command") {
      if (known.command === access.command) return true;
    } else if (known.kind === "skill" && access.kind === "skill") {
      // The same one by its whole name.
      return true;
    }
  }
  return false;
}

/** A write covers reading the same file; a search covers what is below its directory. */
function coversPath(
  known: Access,
  knownReal: string,
  { access, real }: { readonly access: Access; readonly real: string },
): boolean {
  if (knownReal === "" || real === "") return false;
  if (known.kind === "search" && access.kind !== "write")
    return real === knownReal || real.startsWith(knownReal === "/" ? "/" : `${knownReal}/`);
  return real === knownReal && (known.kind === access.kind || (known.kind === "write" && access.kind === "read"));
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
