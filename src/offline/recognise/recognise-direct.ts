import type { ListRequest, ReadRequest, SearchRequest } from "./job-request.ts";
import { name, path, pathOf, place, quoted, sentence, unquote } from "./phrases.ts";

const readForm = sentence(
  `(?:read|show|show me|print|cat|open|display|view)(?: the)?(?: file| contents? of| text of)*(?: the)?(?: file)? (?<path>${path})`,
);

export function asRead(words: string): ReadRequest | undefined {
  const found = unquote(readForm.exec(words)?.groups?.["path"] ?? "");
  if (found === "" || found.endsWith("/") || found.includes("*")) return undefined;
  return { kind: "read", path: found };
}

const todoForm =
  /^(find|list|show|search for|show me|where are|count|how many|are there|what)\b.*\b(todos?|fixmes?)\b/i;
const searchForms = [
  `(?:search|grep|look|find)(?: (?:for|the text|the string|all|occurrences of|lines with|text))* ${quoted}${place}`,
  `(?:search(?: for)?|grep(?: for)?) (?:the (?:text|string|word) )?(?<text>.+?)${place}`,
].map(sentence);

export function asSearch(words: string): SearchRequest | undefined {
  if (todoForm.test(words))
    return { kind: "search", text: "TODO", path: pathOf(/ (?:in|under) ([\w@~./-]+)$/.exec(words)?.[1]) };
  for (const form of searchForms) {
    const found = form.exec(words)?.groups;
    const text = unquote(found?.["text"] ?? "");
    if (text !== "") return { kind: "search", text, path: pathOf(found?.["path"]) };
  }
  return undefined;
}

const namedForm = sentence(
  `(?:find|list|show|locate)(?: me)?(?: all| the)* files? (?:named|called|with the name) ${name}${place}`,
);
const listForm = sentence(
  `(?:list|ls|show|show me|what|which)(?: me)?(?: all)?(?: the)?(?: (?:files?|directory|directories|folders?|contents?|entries)(?: and (?:files|directories|folders))?)?(?: (?:are|is) (?:there|here))?${place}(?: (?:here|there))?`,
);
const lsForm = sentence(String.raw`ls(?: -\w+)? (?<path>[\w@~./-]+)|list (?<other>${path})`);

export function asList(words: string): ListRequest | undefined {
  const pattern = /(?:^| )[\x60"']?([\w./{},-]*\*[\w*{},./-]*)[\x60"']?(?= |$)/.exec(words)?.[1];
  if (pattern && /^(list|find|show|ls|which|what)\b/i.test(words)) return { kind: "list", path: ".", pattern };
  const named = namedForm.exec(words)?.groups;
  if (named) return { kind: "list", path: pathOf(named["path"]), pattern: `**/*${unquote(named["name"] ?? "")}*` };
  const listed = listForm.exec(words)?.groups;
  if (listed && /^(ls|list)\b|\b(files?|contents?|entries|director(y|ies)|folders?)\b/i.test(words))
    return { kind: "list", path: pathOf(listed["path"]) };
  const bare = lsForm.exec(words)?.groups;
  return bare && { kind: "list", path: pathOf(bare["path"] ?? bare["other"]) };
}
