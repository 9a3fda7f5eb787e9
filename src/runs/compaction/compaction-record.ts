import { boundText } from "../../lib/index.ts";
import { type Message, type PermissionMode, type RunFacts, textOf } from "../../protocol/index.ts";

export interface CompactionRecord {
  /** What was asked first and last; the latest only where it is not in the conversation any more. */
  readonly first?: string | undefined;
  readonly latest?: string | undefined;
  readonly summary: string;
  /** The runtime made the summary: the model's own was not to be had. */
  readonly digest: boolean;
  /** The newest exchange, where it was too long to stay as it was. */
  readonly exchange: string;
  readonly mode: PermissionMode;
  readonly facts: RunFacts | undefined;
  /** Of `rosterText`. */
  readonly roster: string;
}

const OPENING = "[The conversation up to here was too long for the context window.";

/**
 * The first message of a compacted conversation. What was asked, what the runtime saw and which agents there are stand
 * apart from the model's own words, so that no summary can lose or change them.
 */
export function recordText(record: CompactionRecord, maxCharacters: number): string {
  const { first, latest, summary, digest, exchange, roster } = record;
  const bound = (text: string, share: number): string =>
    boundText(text, { maxCharacters: Math.floor(maxCharacters * share) }).text;
  const author = digest ? "digest by the runtime, because the model gave no summary" : "summary, in your own words";
  const sections = [
    `${OPENING} This record stands in its place; it was written by the runtime and asks for nothing new.]`,
    section("first_request", first === undefined ? "" : bound(first, 0.2)),
    section("latest_request", latest === undefined || latest === first ? "" : bound(latest, 0.2)),
    section("summary", summary, author),
    section("newest_exchange", exchange),
    section("facts", bound(factsText(record), 0.1)),
    section("agents", bound(roster, 0.2)),
    "[Go on from where the work stopped. What you read before is no longer here: read again what you need, and before you edit.]",
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** The summary inside a message that an earlier compaction made. */
export function recordedSummary(message: Message): string | undefined {
  const text = textOf(message.content);
  if (message.role !== "user" || !text.startsWith(OPENING)) return undefined;
  return /<summary[^>]*>\n([\s\S]*?)\n<\/summary>/.exec(text)?.[1];
}

function factsText({ mode, facts }: CompactionRecord): string {
  const denied = facts?.denied ?? [];
  const changed = facts?.filesChanged ?? [];
  const unknown = facts?.unknown ?? [];
  return [
    `Permission mode: ${mode}.`,
    ...(denied.length === 0 ? [] : ["Denied in this run, and still denied:", ...denied.slice(-10).map(deniedLine)]),
    ...(changed.length === 0 ? [] : ["Files changed in this run:", ...changed.slice(-60).map((path) => `- ${path}`)]),
    ...(unknown.length === 0
      ? []
      : [`Calls of unknown outcome in this run: ${unknown.length}. Check before you repeat.`]),
  ].join("\n");
}

function deniedLine({ tool, input }: RunFacts["denied"][number]): string {
  return `- ${tool} ${boundText(input.replace(/\s+/g, " "), { maxCharacters: 200 }).text}`;
}

function section(name: string, text: string, note?: string): string {
  if (text.trim() === "") return "";
  return `<${name}${note === undefined ? "" : ` note="${note}"`}>\n${neutral(text.trim())}\n</${name}>`;
}

/** Text that would close a section of this record is only text. */
function neutral(text: string): string {
  return text.replace(/<(?=\/?(?:first_request|latest_request|summary|newest_exchange|facts|agents)\b)/gi, "&lt;");
}
