/** What the words of a request ask for. */
export type Wish =
  | { readonly kind: "map"; readonly path: string }
  | FindWish
  | { readonly kind: "summarise"; readonly path: string }
  | HistoryWish
  | ListWish
  | ReadWish
  | SearchWish
  | { readonly kind: "unknown" };

export interface FindWish {
  readonly kind: "find";
  readonly symbol: string;
  readonly path: string;
}

export interface HistoryWish {
  readonly kind: "history";
  readonly path: string;
  readonly commits: number;
}

export interface ListWish {
  readonly kind: "list";
  readonly path: string;
  /** A pattern of names; absent: what stands in the directory. */
  readonly pattern?: string;
}

export interface ReadWish {
  readonly kind: "read";
  readonly path: string;
}

export interface SearchWish {
  readonly kind: "search";
  readonly text: string;
  readonly path: string;
}

/** The first rule that understands the words; order matters where they could mean two things. */
export function recognise(request: string): Wish {
  const words = plain(request);
  if (words === "" || asksForChange(words)) return { kind: "unknown" };
  for (const rule of [asRead, asSearch, asList, asFind, asSummary, asHistory, asMap, asPlainFind]) {
    const wish = rule(words);
    if (wish) return wish;
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
    words = words.replace(courtesies, "").replace(/[\s.?!,;:]+$|,?\s+(please|thanks|thank you|for me)$/i, "");
  }
  return words;
}

const courtesies =
  /^(please|hey|hi|hello|ok|okay|now|so|then|retinue|can you|could you|would you|will you|kindly|let's|i want you to|i want to know|i'd like (you )?to( know)?|i need (you )?to( know)?|help me( to)?|tell me|just|first)\b[,:!]?\s*/i;

const changing =
  "write|create|add|fix|refactor|implement|rename|delete|remove|update|change|edit|generate|translate|install|run|execute|deploy|commit|push|debug|optimi[sz]e|convert|migrate|move|replace|improve|review|upgrade|reformat|format|merge|rewrite|compose|draft|solve|patch|revert|make|build|test|simplify|clean|document";

/** It changes nothing and invents nothing; doing half of a request would look like doing it. */
function asksForChange(words: string): boolean {
  const stated = new RegExp(
    `^(${changing})\\b(?!( me)? (a|an|the)? ?(short |brief |quick |rough |full )*(map|overview|summary|list|tour|report)\\b)`,
    "i",
  );
  const added = new RegExp(`(\\band( then)?|[,;.] (then)?)\\s+(${changing})\\b`, "i");
  return stated.test(words) || added.test(words);
}

const subject = `(?:the |a |an |all |every |our |this )*(?:(?:function|method|class|type|interface|struct|enum|trait|constant|variable|symbol|identifier|macro|module|component|const|var|word|name)s? )?`;
const target = String.raw`(?<name>\x60[^\x60]+\x60|"[^"]+"|'[^']+'|[\w$@#.:~-]+(?:\(\))?)`;
const place = String.raw`(?: (?:in|inside|within|under|below|of|from) (?:the )?(?:file |directory |folder )?(?<path>\x60[^\x60]+\x60|"[^"]+"|'[^']+'|[\w@~./-]+))?`;

const findForms = [
  `where (?:is|are|was|were|do|does|did|can i find)(?: we| i| it| the code| this)? (?:define|declare|implement|use|call|import|find)? ?${subject}${target}(?: (?:is |are |being |get |gets )?(?:defined|declared|implemented|used|called|located|imported|referenced|come from|coming from|live|lives|declared and used|defined and used|and where is it used))*${place}`,
  `(?:show me |show )?where ${subject}${target} (?:is|are|gets|get) \\w+(?: and \\w+)?${place}`,
  `(?:find |show |show me |list |get |look up |go to )?${subject}(?:definitions?|declarations?|usages?|uses|references|callers|call sites|calls|implementations?|occurrences)(?: and (?:usages?|uses|references|callers))? (?:of|to|for) ${subject}${target}${place}`,
  `(?:who|what|which (?:files?|code|functions?|modules?|places?)) (?:calls?|uses?|imports?|references?|defines?|declares?|implements?) ${subject}${target}${place}`,
  `how (?:is|are) ${subject}${target} (?:used|called|defined|implemented)${place}`,
].map(exactly);

function asFind(words: string): Wish | undefined {
  for (const form of findForms) {
    const found = form.exec(words)?.groups;
    const symbol = unquote(found?.["name"] ?? "").replace(/\(\)$/, "");
    if (symbol === "" || pronouns.test(symbol)) continue;
    return { kind: "find", symbol, path: directory(found?.["path"]) };
  }
  return undefined;
}

const plainFindForms = [
  `(?:find|locate|look for|look up|what is|what's|what are|explain|describe|how does) ${subject}${target}(?: (?:work|do|mean|for))?${place}`,
].map(exactly);

/** A single name after "find". A common word after "what is" is more likely a question for a language model. */
function asPlainFind(words: string): Wish | undefined {
  for (const form of plainFindForms) {
    const found = form.exec(words)?.groups;
    const symbol = unquote(found?.["name"] ?? "").replace(/\(\)$/, "");
    if (symbol === "" || pronouns.test(symbol)) continue;
    if (!/^(find|locate|look)/i.test(words) && !looksLikeCode(found?.["name"] ?? "")) continue;
    return { kind: "find", symbol, path: directory(found?.["path"]) };
  }
  return undefined;
}

const pronouns = /^(it|this|that|they|them|there|here|everything|something|bugs?|errors?|problems?|out|me|you)$/i;

function looksLikeCode(name: string): boolean {
  return /^[\x60"']|[a-z][A-Z]|[A-Z][a-z]+[A-Z]|_|\(\)$|::|\w\.\w|^[A-Z][A-Za-z0-9]+$/.test(name);
}

function asSearch(words: string): Wish | undefined {
  if (
    /^(find|list|show|search for|show me|where are|count|how many|are there|what)\b.*\b(todos?|fixmes?)\b/i.test(words)
  )
    return { kind: "search", text: "TODO", path: directory(/ (?:in|under) ([\w@~./-]+)$/.exec(words)?.[1]) };
  const quoted = exactly(
    `(?:search|grep|look|find)(?: (?:for|the text|the string|all|occurrences of|lines with|text))* ${quotes}${place}`,
  );
  const found =
    quoted.exec(words)?.groups ??
    exactly(`(?:search(?: for)?|grep(?: for)?) (?:the (?:text|string|word) )?(?<text>.+?)${place}`).exec(words)?.groups;
  const text = unquote(found?.["text"] ?? "");
  return text === "" ? undefined : { kind: "search", text, path: directory(found?.["path"]) };
}

const quotes = String.raw`(?<text>\x60[^\x60]+\x60|"[^"]+"|'[^']+')`;

function asList(words: string): Wish | undefined {
  const pattern = /\*\.?[\w*{},./-]*|[\w./-]+\/\*[\w*{},./-]*/.exec(words)?.[0];
  if (pattern && /^(list|find|show|ls|which|what)\b/i.test(words)) return { kind: "list", path: ".", pattern };
  const named = exactly(
    `(?:find|list|show|locate)(?: me)?(?: all| the)* files? (?:named|called|with the name) ${target}${place}`,
  ).exec(words)?.groups;
  if (named) return { kind: "list", path: directory(named["path"]), pattern: `**/*${unquote(named["name"] ?? "")}*` };
  const listed = exactly(
    `(?:list|ls|show|show me|what|which)(?: me)?(?: all)?(?: the)?(?: (?:files?|directory|directories|folders?|contents?|entries)(?: and (?:files|directories|folders))?)?(?: (?:are|is) (?:there|here))?${place}(?: (?:here|there))?`,
  ).exec(words)?.groups;
  if (listed && /^(ls|list)\b|\b(files?|contents?|entries|director(y|ies)|folders?)\b/i.test(words))
    return { kind: "list", path: directory(listed["path"]) };
  const bare = exactly(`(?:ls|list) (?<path>${pathWord})`).exec(words)?.groups;
  return bare ? { kind: "list", path: directory(bare["path"]) } : undefined;
}

const pathWord = String.raw`\x60[^\x60]+\x60|"[^"]+"|'[^']+'|[\w@~.-]*[./][\w@~./-]*|README|LICENSE|Makefile|Dockerfile`;

function asRead(words: string): Wish | undefined {
  const form = exactly(
    `(?:read|show|show me|print|cat|open|display|view)(?: the)?(?: file| contents? of| text of)*(?: the)?(?: file)? (?<path>${pathWord})`,
  );
  const path = unquote(form.exec(words)?.groups?.["path"] ?? "");
  if (path === "" || path.endsWith("/") || path.includes("*")) return undefined;
  return { kind: "read", path };
}

function asSummary(words: string): Wish | undefined {
  const verb =
    "(?:give me |make |create |write |generate )?(?:a |an |the )?(?:short |brief |quick )*(?:summari[sz]e|summary of|summary for|explain|describe|overview of|outline|outline of|what does|what do|what is|what's|what's in|what is in|how does|what can you say about|about|analy[sz]e|look at|inspect)";
  const form = exactly(
    `${verb} (?:me )?(?:the )?(?:file |directory |folder |module |room |package |code in |contents of )*(?<path>${pathWord})(?: (?:file|directory|folder|module|room|package))?(?: (?:do|does|work|contain|hold|for|about|is|mean))*`,
  );
  const path = unquote(form.exec(words)?.groups?.["path"] ?? "");
  if (path !== "" && path !== "." && path !== "./" && !/\(\)$/.test(path))
    return { kind: "summarise", path: directory(path) };
  const named =
    exactly(
      `${verb} (?:the )?(?:file |directory |folder |module |room |package )(?<path>[\\w@.-]+)(?: (?:do|does|work|contain|hold|for|about))*`,
    ).exec(words) ??
    exactly(
      `(?:summari[sz]e|outline) (?:the )?(?<path>[\\w@.-]+)(?: (?:file|directory|folder|module|room|package))?`,
    ).exec(words) ??
    exactly(
      `${verb} (?:the )?(?<path>[\\w@.-]+) (?:file|directory|folder|module|room|package)(?: (?:do|does|work|contain|hold|for|about))*`,
    ).exec(words);
  const name = named?.groups?.["path"] ?? "";
  if (
    name === "" ||
    whole.test(name) ||
    pronouns.test(name) ||
    /^(recent|git|last|latest|changes|history)$/i.test(name)
  )
    return undefined;
  return { kind: "summarise", path: name };
}

const whole =
  /^(this|that|the|it|repo|repository|project|code|codebase|everything|workspace|directory|folder|package|app|application|here|structure|architecture|layout)$/i;

function asHistory(words: string): Wish | undefined {
  const said =
    /\bgit (log|history|changes|activity)\b|\b(recent|latest|last|newest|previous|new)( \w+)?( git)? (changes?|commits?|work|activity|history)\b|\bwhat('s| has| have| is)? ?(was |been |recently )?(changed?|new|happened|happening|going on)\b|\bcommit (history|log)\b|\b(project|repo(sitory)?|change) (history|log)\b|\bchangelog\b|\brecently\b|\b(the|show|list|explain|all|of) (git )?(history|commits)\b|^(git )?(history|commits|log)$|\bwho (changed|committed|worked|wrote|contributes|contributed)\b/i;
  if (!said.test(words)) return undefined;
  const number = /\b(\d{1,3})\b/.exec(words)?.[1];
  const path = new RegExp(`\\b(?:in|to|of|on|for|under) (?:the )?(?:file |directory |folder )?(${pathWord})`, "i").exec(
    words,
  )?.[1];
  return { kind: "history", path: directory(path), commits: Math.min(100, Math.max(1, Number(number ?? 20))) };
}

function asMap(words: string): Wish | undefined {
  const verbs =
    /\b(map|overview|explore|tour|onboard|walk (me )?through|get to know|orient|survey|structured?|layout|architecture|organi[sz]ed|organi[sz]ation|entry points?|languages?|biggest files|lines of code|tech stack)\b/i;
  const things =
    /\b(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application|here|this)\b/i;
  const asking =
    /^(what|describe|explain|understand|summari[sz]e|summary|analy[sz]e|about|introduce|look|inspect|report|show|give|make|create|write|generate|which|how|tell|study|learn|read|scan|examine)\b/i;
  const path = new RegExp(
    `\\b(?:map|explore|overview of|structure of|layout of|architecture of|survey|of|in) (?:the )?(?:directory |folder )?(${pathWord})`,
    "i",
  ).exec(words)?.[1];
  if (/^(map|overview|explore|structure|layout|architecture)$/i.test(words)) return { kind: "map", path: "." };
  if (
    verbs.test(words) &&
    (things.test(words) || path !== undefined || asking.test(words) || /^(map|explore|survey)\b/i.test(words))
  )
    return { kind: "map", path: directory(path) };
  return asking.test(words) && things.test(words) && isAboutTheWhole(words) ? { kind: "map", path: "." } : undefined;
}

/** "What is this project about" yes, "what is the best way to structure my feelings about this code" no. */
function isAboutTheWhole(words: string): boolean {
  return (
    words.length < 120 &&
    /\b(this|the|my|our|whole|entire|current)\b( \w+)? ?(repo|repository|project|code ?base|code|workspace|directory|folder|package|app|application)\b|\bwhat('s| is) (this|here|in here)$/i.test(
      words,
    )
  );
}

function exactly(source: string): RegExp {
  return new RegExp(`^${source}$`, "i");
}

function unquote(text: string): string {
  return text.replace(/^[\x60"']|[\x60"']$/g, "");
}

/** A path as the tools take it: no slash or sentence mark at its end. */
function directory(text: string | undefined): string {
  const path = unquote(text ?? "")
    .replace(/(?<=.)[/,;:]+$/, "")
    .replace(/^\.\//, "");
  return path === "" || whole.test(path) ? "." : path;
}
