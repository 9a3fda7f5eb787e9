import { protectedPart } from "../protected-path.ts";
import type { ShellAnalysis } from "./shell-analysis.ts";
import type { ShellWord } from "./shell-word.ts";

export interface Place {
  readonly roots: readonly string[];
  readonly loopWords: ShellAnalysis["loopWords"];
}

/** Why a word could lead out of the workspace, or undefined. Links are not seen here: paths are resolved elsewhere. */
export function reachOf(word: ShellWord, place: Place): string | undefined {
  if (word.open === "value") return valueReach(word, place);
  // An option carries its value after `=`, or glued to one letter (`-o/etc/x`).
  const value = word.text.replace(/^--?[\w-]*=/, "").replace(/^-[A-Za-z](?=[/.])/, "");
  if (/^(https?|ssh|git):\/\//i.test(value)) return undefined;
  if (/^[A-Za-z][\w+.-]*:(\/\/|:)/.test(value)) return "an argument is an address that can name files or programs";
  if (/(^|[/:=@{,])\.\.([/},]|$)/.test(value)) return "an argument climbs out of its directory";
  if (/^@?\//.test(value) && rootOf(value, place) === undefined) return "an argument is outside the workspace";
  return undefined;
}

/** The protected file that a fixed word names, or undefined. */
export function protectedIn(word: ShellWord, place: Place): string | undefined {
  const value = word.text.replace(/^--?[\w-]*=/, "");
  if (!/^[\p{L}\p{N}\p{M}_./@ *-]+$/u.test(value)) return undefined;
  return protectedPart(value.slice(rootOf(value, place)?.length ?? 0));
}

function valueReach({ variables }: ShellWord, place: Place): string | undefined {
  const known = variables?.every((name) => {
    const words = place.loopWords.get(name);
    return words?.every((word) => word.open !== "value" && reachOf(word, place) === undefined);
  });
  return known === true ? undefined : "only the shell knows what an argument will be";
}

function rootOf(value: string, { roots }: Place): string | undefined {
  return roots.find((root) => value === root || value.startsWith(`${root}/`));
}
