import type { FindRequest, HistoryRequest, MapRequest, SummaryRequest } from "./job-request.ts";
import { isPronoun, isWhole, name, path, pathOf, place, sentence, subject, unquote } from "./phrases.ts";

const used =
  "(?:defined|declared|implemented|used|called|located|imported|referenced|come from|coming from|live|lives|defined and used|declared and used|and where is it used)";
const findForms = [
  `where (?:is|are|was|were|do|does|did|can i find)(?: we| i| it| the code| this)? (?:define|declare|implement|use|call|import|find)? ?${subject}${name}(?: (?:is |are |being |get |gets )?${used})*${place}`,
  `(?:show me |show )?where ${subject}${name} (?:is|are|gets|get) \\w+(?: and \\w+)?${place}`,
  `(?:find |show |show me |list |get |look up |go to )?${subject}(?:definitions?|declarations?|usages?|uses|references|callers|call sites|calls|implementations?|occurrences)(?: and (?:usages?|uses|references|callers))? (?:of|to|for) ${subject}${name}${place}`,
  `(?:who|what|which (?:files?|code|functions?|modules?|places?)) (?:calls?|uses?|imports?|references?|defines?|declares?|implements?) ${subject}${name}${place}`,
  `how (?:is|are) ${subject}${name} (?:used|called|defined|implemented)${place}`,
].map(sentence);

export function asFind(words: string): FindRequest | undefined {
  for (const form of findForms) {
    const request = findRequest(form.exec(words));
    if (request) return request;
  }
  return undefined;
}

const plainFindForm = sentence(
  `(?:find|locate|look for|look up|what is|what's|what are|explain|describe|how does) ${subject}${name}(?: (?:work|do|mean|for))?${place}`,
);

/** A single name. A common word after "what is" is more likely a question for a language model. */
export function asPlainFind(words: string): FindRequest | undefined {
  const match = plainFindForm.exec(words);
  if (!/^(find|locate|look)/i.test(words) && !looksLikeCode(match?.groups?.["name"] ?? "")) return undefined;
  return findRequest(match);
}

function findRequest(match: RegExpExecArray | null): FindRequest | undefined {
  const symbol = unquote(match?.groups?.["name"] ?? "").replace(/\(\)$/, "");
  if (symbol === "" || isPronoun(symbol)) return undefined;
  return { kind: "find", symbol, path: pathOf(match?.groups?.["path"]) };
}

function looksLikeCode(word: string): boolean {
  return /^[\x60"']|[a-z][A-Z]|[A-Z][a-z]+[A-Z]|_|\(\)$|::|\w\.\w|^[A-Z][A-Za-z0-9]+$/.test(word);
}

const summaryVerb =
  "(?:give me |make |create |write |generate )?(?:a |an |the )?(?:short |brief |quick )*(?:summari[sz]e|summary of|summary for|explain|describe|overview of|outline|outline of|what does|what do|what is|what's|what's in|what is in|how does|what can you say about|about|analy[sz]e|look at|inspect)";
const container = "(?:file|directory|folder|module|room|package)";
const summaryEnd = "(?: (?:do|does|work|contain|hold|for|about|is|mean))*";
const summaryOfPath = sentence(
  `${summaryVerb} (?:me )?(?:the )?(?:${container} |code in |contents of )*(?<path>${path})(?: ${container})?${summaryEnd}`,
);
const summaryOfName = [
  `${summaryVerb} (?:the )?${container} (?<path>[\\w@.-]+)${summaryEnd}`,
  `(?:summari[sz]e|outline) (?:the )?(?<path>[\\w@.-]+)(?: ${container})?`,
  `${summaryVerb} (?:the )?(?<path>[\\w@.-]+) ${container}${summaryEnd}`,
].map(sentence);

export function asSummary(words: string): SummaryRequest | undefined {
  const found = unquote(summaryOfPath.exec(words)?.groups?.["path"] ?? "");
  if (found !== "" && pathOf(found) !== ".") return { kind: "summarise", path: pathOf(found) };
  for (const form of summaryOfName) {
    const word = form.exec(words)?.groups?.["path"];
    if (word === undefined) continue;
    const isOther = isWhole(word) || isPronoun(word) || /^(recent|git|last|latest|changes|history)$/i.test(word);
    return isOther ? undefined : { kind: "summarise", path: word };
  }
  return undefined;
}

const historyWords = [
  "\\bgit (log|history|changes|activity)\\b",
  "\\b(recent|latest|last|newest|previous|new)( \\w+)?( git)? (changes?|commits?|work|activity|history)\\b",
  "\\bwhat('s| has| have| is)? ?(was |been |recently )?(changed?|new|happened|happening|going on)\\b",
  "\\b(commit|project|repo|repository|change) (history|log)\\b|\\bchangelog\\b|\\brecently\\b",
  "\\b(the|show|list|explain|all|of) (git )?(history|commits)\\b|^(git )?(history|commits|log)$",
  "\\bwho (changed|committed|worked|wrote|contributes|contributed)\\b",
];
const historyForm = new RegExp(historyWords.join("|"), "i");
const historyPath = new RegExp(
  `\\b(?:in|to|of|on|for|under|changed|wrote) (?:the )?(?:file |directory |folder )?(${path})`,
  "i",
);
const usualCommits = 20;

export function asHistory(words: string): HistoryRequest | undefined {
  if (!historyForm.test(words)) return undefined;
  const number = /\b(\d{1,3})\b/.exec(words)?.[1];
  const commits = Math.min(100, Math.max(1, Number(number ?? usualCommits)));
  return { kind: "history", path: pathOf(historyPath.exec(words)?.[1]), commits };
}

const mapWords =
  /\b(map|overview|explore|tour|onboard|walk (me )?through|get to know|orient|survey|structured?|layout|architecture|organi[sz]ed|organi[sz]ation|entry points?|languages?|biggest files|lines of code|tech stack)\b/i;
const mapThings =
  /\b(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application|here|this)\b/i;
const mapQuestions =
  /^(what|describe|explain|understand|summari[sz]e|summary|analy[sz]e|about|introduce|look|inspect|report|show|give|make|create|write|generate|which|how|tell|study|learn|read|scan|examine)\b/i;
const mapPath = new RegExp(
  `\\b(?:map|explore|overview of|structure of|layout of|architecture of|survey|of|in) (?:the )?(?:directory |folder )?(${path})`,
  "i",
);
const mapName = sentence("(?:map|explore|survey|structure of|layout of|overview of) (?:the )?(?<path>[\\w@-]+)");
/** "What is this project about" yes, "what is the best way to structure my feelings about this code" no. */
const mapWhole =
  /\b(this|the|my|our|whole|entire|current)\b( \w+)? ?(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application)\b|\bwhat('s| is) (this|here|in here)$/i;

export function asMap(words: string): MapRequest | undefined {
  if (sentence("(?:map|overview|explore|structure|layout|architecture)").test(words)) return { kind: "map", path: "." };
  const bare = mapName.exec(words)?.groups?.["path"];
  const found = mapPath.exec(words)?.[1] ?? (bare === undefined || isPronoun(bare) ? undefined : bare);
  const isPlace = mapThings.test(words) || found !== undefined;
  if (mapWords.test(words) && (isPlace || mapQuestions.test(words) || /^(map|explore|survey)\b/i.test(words)))
    return { kind: "map", path: pathOf(found) };
  if (!mapQuestions.test(words) || !mapThings.test(words) || words.length > 120) return undefined;
  return mapWhole.test(words) ? { kind: "map", path: "." } : undefined;
}
