import {
  asPart,
  type FindRequest,
  type HistoryRequest,
  type JobRequest,
  type ListRequest,
  type MapRequest,
  type ReadRequest,
  type SearchRequest,
  type SummaryRequest,
} from "./job-request.ts";

/** Maximum length of a request. Longer text is never a request for one of these jobs. */
const maxCharacters = 1_000;

/**
 * Returns the job that the first matching rule recognizes. If a sentence can be read in two ways, the order of the
 * rules decides.
 */
export function recognize(request: string): JobRequest {
  const part = asPart(request);
  if (part) return part;
  if (request.length > maxCharacters) return { kind: "unknown" };
  const text = withoutCourtesies(request);
  if (text === "" || asksForChange(text)) return { kind: "unknown" };
  for (const rule of [asRead, asSearch, asList, asFind, asSummary, asHistory, asMap, asPlainFind]) {
    const recognized = rule(text);
    if (recognized) return recognized;
  }
  return { kind: "unknown" };
}

function withoutCourtesies(request: string): string {
  let text = request
    .replace(/\s+/g, " ")
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .trim();
  for (let before = ""; before !== text; ) {
    before = text;
    text = text
      .replace(courtesies, "")
      .replace(/(?<!\s)\s+$|(?<=[^\s.?!,;:])[.?!,;:]+$|,?(?<!\s)\s+(please|thanks|thank you|for me)$/i, "");
  }
  return text;
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

/**
 * Returns true if a request asks for a change. The offline model only reads, and doing half of a request would look
 * like doing all of it.
 */
function asksForChange(text: string): boolean {
  return stated.test(text) || added.test(text);
}

// Sentence parts from which the rules below are built.
const quotedText = String.raw`\x60[^\x60]+\x60|"[^"]+"|'[^']+'`;

const quotedPart = `(?<text>${quotedText})`;

/** Matches the text before a name: "the function", "all classes". */
const article =
  "(?:the |a |an |all |every |our |this )*(?:(?:function|method|class|type|interface|struct|enum|trait|constant|variable|symbol|identifier|macro|module|component|const|var|word|name)(?:s|es)? )?";

const namePart = String.raw`(?<name>${quotedText}|[\w$@#.:~-]+(?:\(\))?)`;

/** Matches a phrase such as "in src/lib" at the end of a sentence. */
const inPath = String.raw`(?: (?:in|inside|within|under|below|of|from) (?:the )?(?:file |directory |folder )?(?<path>${quotedText}|[\w@~./-]+))?`;

/** Matches text that can only be a path, because it is quoted or contains a dot or a slash. */
const pathPart = String.raw`${quotedText}|[\w@~.-]*[./][\w@~./-]*|README|LICENSE|Makefile|Dockerfile`;

function sentence(source: string): RegExp {
  return new RegExp(`^${source}$`, "i");
}

function unquote(text: string): string {
  return text.replace(/^[\x60"']|[\x60"']$/g, "");
}

/** Returns a path for the tools, without a trailing slash or punctuation. "this project" is the workspace. */
function pathOf(text: string | undefined): string {
  const found = unquote(text ?? "")
    .replace(/(?<=[^/,;:])[/,;:]+$/, "")
    .replace(/^\.\//, "");
  return found === "" || isWhole(found) ? "." : found;
}

function isWhole(word: string): boolean {
  return /^(this|that|the|it|repo|repository|project|code|codebase|everything|workspace|directory|folder|package|app|application|here|structure|architecture|layout)$/i.test(
    word,
  );
}

/** Returns true if a word can't be a name in a repository. */
function isPronoun(word: string): boolean {
  return /^(it|this|that|they|them|there|here|everything|something|bugs?|errors?|problems?|out|me|you|us|all)$/i.test(
    word,
  );
}

const readForm = sentence(
  `(?:read|show|show me|print|cat|open|display|view)(?: the)?(?: file| contents? of| text of)*(?: the)?(?: file)? (?<path>${pathPart})`,
);

function asRead(text: string): ReadRequest | undefined {
  const found = unquote(readForm.exec(text)?.groups?.["path"] ?? "");
  if (found === "" || found.endsWith("/") || found.includes("*")) return undefined;
  return { kind: "read", path: found };
}

const todoForm =
  /^(find|list|show|search for|show me|where are|count|how many|are there|what)\b.*\b(todos?|fixmes?)\b/i;
const searchForms = [
  `(?:search|grep|look|find)(?: (?:for|the text|the string|all|occurrences of|lines with|text))* ${quotedPart}${inPath}`,
  `(?:search(?: for)?|grep(?: for)?) (?:the (?:text|string|word) )?(?<text>.+?)${inPath}`,
].map(sentence);

function asSearch(text: string): SearchRequest | undefined {
  if (todoForm.test(text))
    return { kind: "search", text: "TODO", path: pathOf(/ (?:in|under) ([\w@~./-]+)$/.exec(text)?.[1]) };
  for (const form of searchForms) {
    const found = form.exec(text)?.groups;
    const searched = unquote(found?.["text"] ?? "");
    if (searched !== "") return { kind: "search", text: searched, path: pathOf(found?.["path"]) };
  }
  return undefined;
}

const namedForm = sentence(
  `(?:find|list|show|locate)(?: me)?(?: all| the)* files? (?:named|called|with the name) ${namePart}${inPath}`,
);
const listForm = sentence(
  `(?:list|ls|show|show me|what|which)(?: me)?(?: all)?(?: the)?(?: (?:files?|directory|directories|folders?|contents?|entries)(?: and (?:files|directories|folders))?)?(?: (?:are|is) (?:there|here))?${inPath}(?: (?:here|there))?`,
);
const lsForm = sentence(String.raw`ls(?: -\w+)? (?<path>[\w@~./-]+)|list (?<other>${pathPart})`);

function asList(text: string): ListRequest | undefined {
  const pattern = /(?:^| )[\x60"']?([\w./{},-]*\*[\w*{},./-]*)[\x60"']?(?= |$)/.exec(text)?.[1];
  if (pattern && /^(list|find|show|ls|which|what)\b/i.test(text)) return { kind: "list", path: ".", pattern };
  const named = namedForm.exec(text)?.groups;
  if (named) return { kind: "list", path: pathOf(named["path"]), pattern: `**/*${unquote(named["name"] ?? "")}*` };
  const listed = listForm.exec(text)?.groups;
  if (listed && /^(ls|list)\b|\b(files?|contents?|entries|director(y|ies)|folders?)\b/i.test(text))
    return { kind: "list", path: pathOf(listed["path"]) };
  const bare = lsForm.exec(text)?.groups;
  return bare && { kind: "list", path: pathOf(bare["path"] ?? bare["other"]) };
}

const used =
  "(?:defined|declared|implemented|used|called|located|imported|referenced|come from|coming from|live|lives|defined and used|declared and used|and where is it used)";
const findForms = [
  `where (?:is|are|was|were|do|does|did|can i find)(?: we| i| it| the code| this)? (?:(?:define|declare|implement|use|call|import|find) )?${article}${namePart}(?: (?:is |are |being |get |gets )?${used})*${inPath}`,
  `(?:show me |show )?where ${article}${namePart} (?:is|are|gets|get) \\w+(?: and \\w+)?${inPath}`,
  `(?:find |show |show me |list |get |look up |go to )?${article}(?:definitions?|declarations?|usages?|uses|references|callers|call sites|calls|implementations?|occurrences)(?: and (?:usages?|uses|references|callers))? (?:of|to|for) ${article}${namePart}${inPath}`,
  `(?:who|what|which (?:files?|code|functions?|modules?|places?)) (?:calls?|uses?|imports?|references?|defines?|declares?|implements?) ${article}${namePart}${inPath}`,
  `how (?:is|are) ${article}${namePart} (?:used|called|defined|implemented)${inPath}`,
].map(sentence);

function asFind(text: string): FindRequest | undefined {
  for (const form of findForms) {
    const request = findRequest(form.exec(text));
    if (request) return request;
  }
  return undefined;
}

const plainFindForm = sentence(
  `(?:find|locate|look for|look up|what is|what's|what are|explain|describe|how does) ${article}${namePart}(?: (?:work|do|mean|for))?${inPath}`,
);

/** Recognizes a single name. A common word after "what is" is more likely to be a question for a language model. */
function asPlainFind(text: string): FindRequest | undefined {
  const match = plainFindForm.exec(text);
  if (!/^(find|locate|look)/i.test(text) && !looksLikeCode(match?.groups?.["name"] ?? "")) return undefined;
  return findRequest(match);
}

function findRequest(match: RegExpExecArray | null): FindRequest | undefined {
  const name = match?.groups?.["name"] ?? "";
  const symbol = unquote(name).replace(/\(\)$/, "");
  // In "Where is defined?", the name is missing.
  if (symbol === "" || isPronoun(symbol) || new RegExp(`^${used}$`, "i").test(name)) return undefined;
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
  `${summaryVerb} (?:me )?(?:the )?(?:${container} |code in |contents of )*(?<path>${pathPart})(?: ${container})?${summaryEnd}`,
);
const summaryOfName = [
  `${summaryVerb} (?:the )?${container} (?<path>[\\w@.-]+)${summaryEnd}`,
  `(?:summari[sz]e|outline) (?:the )?(?<path>[\\w@.-]+)(?: ${container})?`,
  `${summaryVerb} (?:the )?(?<path>[\\w@.-]+) ${container}${summaryEnd}`,
].map(sentence);

function asSummary(text: string): SummaryRequest | undefined {
  const found = unquote(summaryOfPath.exec(text)?.groups?.["path"] ?? "");
  if (found !== "" && pathOf(found) !== ".") return { kind: "summarize", path: pathOf(found) };
  for (const form of summaryOfName) {
    const word = form.exec(text)?.groups?.["path"];
    if (word === undefined) continue;
    const isOther = isWhole(word) || isPronoun(word) || /^(recent|git|last|latest|changes|history)$/i.test(word);
    return isOther ? undefined : { kind: "summarize", path: word };
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
  `\\b(?:in|to|of|on|for|under|changed|wrote) (?:the )?(?:file |directory |folder )?(${pathPart})`,
  "i",
);
const usualCommits = 20;

function asHistory(text: string): HistoryRequest | undefined {
  if (!historyForm.test(text)) return undefined;
  const number = /\b(\d{1,3})\b/.exec(text)?.[1];
  const commits = Math.min(100, Math.max(1, Number(number ?? usualCommits)));
  return { kind: "history", path: pathOf(historyPath.exec(text)?.[1]), commits };
}

const mapWords =
  /\b(map|overview|explore|tour|onboard|walk (me )?through|get to know|orient|survey|structured?|layout|architecture|organi[sz]ed|organi[sz]ation|entry points?|languages?|biggest files|lines of code|tech stack)\b/i;
const mapTargets =
  /\b(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application|here|this)\b/i;
const mapQuestions =
  /^(what|describe|explain|understand|summari[sz]e|summary|analy[sz]e|about|introduce|look|inspect|report|show|give|make|create|write|generate|which|how|tell|study|learn|read|scan|examine)\b/i;
const mapPath = new RegExp(
  `\\b(?:map|explore|overview of|structure of|layout of|architecture of|survey|of|in) (?:the )?(?:directory |folder )?(${pathPart})`,
  "i",
);
const mapName = sentence("(?:map|explore|survey|structure of|layout of|overview of) (?:the )?(?<path>[\\w@-]+)");
/** Matches a reference to the whole project, such as "this project" in "What is this project about". */
const mapWhole =
  /\b(this|the|my|our|whole|entire|current)\b( \w+)? ?(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application)\b|\bwhat('s| is) (this|here|in here)$/i;

function asMap(text: string): MapRequest | undefined {
  if (sentence("(?:map|overview|explore|structure|layout|architecture)").test(text)) return { kind: "map", path: "." };
  const bare = mapName.exec(text)?.groups?.["path"];
  const found = mapPath.exec(text)?.[1] ?? (bare === undefined || isPronoun(bare) ? undefined : bare);
  const hasTarget = mapTargets.test(text) || found !== undefined;
  if (mapWords.test(text) && (hasTarget || mapQuestions.test(text) || /^(map|explore|survey)\b/i.test(text)))
    return { kind: "map", path: pathOf(found) };
  if (!mapQuestions.test(text) || !mapTargets.test(text) || text.length > 120) return undefined;
  return mapWhole.test(text) ? { kind: "map", path: "." } : undefined;
}
