import type { JobRequest } from "./job-request.ts";
import { asPart } from "./part-request.ts";
import { asList, asRead, asSearch } from "./recognise-direct.ts";
import { asFind, asHistory, asMap, asPlainFind, asSummary } from "./recognise-job.ts";

/** Longer than anything these jobs need to be told. */
const maxCharacters = 1_000;

/** The first rule that understands the words; order matters where they could mean two things. */
export function recognise(request: string): JobRequest {
  const part = asPart(request);
  if (part) return part;
  if (request.length > maxCharacters) return { kind: "unknown" };
  const words = plain(request);
  if (words === "" || asksForChange(words)) return { kind: "unknown" };
  for (const rule of [asRead, asSearch, asList, asFind, asSummary, asHistory, asMap, asPlainFind]) {
    const request = rule(words);
    if (request) return request;
  }
  return { kind: "unknown" };
}

/** Without courtesies around the request. */
function plain(request: string): string {
  let words = request
    .replace(/\s+/g, " ")
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .trim();
  for (let before = ""; before !== words; ) {
    before = words;
    words = words.replace(courtesies, "").replace(/\s+$|(?<=\S)[.?!,;:]+$|,?\s+(please|thanks|thank you|for me)$/i, "");
  }
  return words;
}

const courtesies =
  /^(please|hey|hi|hello|ok|okay|now|so|then|retinue|can you|could you|would you|will you|kindly|let's|i want you to|i want to know|i'd like (you )?to( know)?|i need (you )?to( know)?|help me( to)?|tell me|just|first)\b[,:!]?\s*/i;

const changing =
  "write|create|add|fix|refactor|implement|rename|delete|remove|update|change|edit|generate|translate|install|run|execute|deploy|commit|push|debug|optimi[sz]e|convert|migrate|move|replace|improve|review|upgrade|reformat|format|merge|rewrite|compose|draft|solve|patch|revert|make|build|test|simplify|clean|document";
const stated = new RegExp(
  `^(${changing})\\b(?!( me)? (a|an|the)? ?(short |brief |quick |rough |full )*(map|overview|summary|list|tour|report)\\b)`,
  "i",
);
const added = new RegExp(`(\\band( then)?|[,;.]( then)?)\\s+(${changing})\\b`, "i");

/** It changes nothing and invents nothing; doing half of a request would look like doing it. */
function asksForChange(words: string): boolean {
  return stated.test(words) || added.test(words);
}
