import { stripControls } from "../lib/index.ts";
import { canonicalToolName, type Message, type ToolDeclaration } from "../protocol/index.ts";
import { browse, readOne, searchText } from "./jobs/direct.ts";
import { findSymbol } from "./jobs/find-symbol.ts";
import { gitHistory } from "./jobs/git-history.ts";
import type { Job, PlannedCall, Report, Seen } from "./jobs/job.ts";
import { clip, unseenSection } from "./jobs/report.ts";
import { summarise } from "./jobs/summarise.ts";
import { explorePart } from "./map/explore-part.ts";
import { explorer } from "./map/explore-parts.ts";
import { mapRepository } from "./map/map-repository.ts";
import { currentRequest } from "./recognise/current-request.ts";
import { recognise } from "./recognise/recognise.ts";

/** What the offline model says next. A refusal ends the run as failed. */
export type Plan =
  | { readonly kind: "calls"; readonly text: string; readonly calls: readonly PlannedCall[] }
  | Pick<Report, "kind" | "text">;

/** A pure function of the conversation: a resumed session goes on where it stood. */
export function plan(messages: readonly Message[], tools: readonly ToolDeclaration[]): Plan {
  const request = currentRequest(messages);
  const declared = new Set(tools.map(({ name }) => canonicalToolName(name)));
  return replay(jobFor(request.text, { canDelegate: canDelegate(tools) }), (call) => {
    if (!declared.has(call.name)) return { call, ok: false, text: `This agent has no tool ${call.name}.` };
    return request.seen(call);
  });
}

/** Whether there is an agent that only looks to give work to. Where not all names are told, it is tried. */
function canDelegate(tools: readonly ToolDeclaration[]): boolean {
  const task = tools.find(({ name }) => canonicalToolName(name) === "Task");
  const { properties } = (task?.inputSchema ?? {}) as {
    readonly properties?: { readonly subagent_type?: { readonly enum?: readonly string[] } };
  };
  return task !== undefined && (properties?.subagent_type?.enum?.includes(explorer) ?? true);
}

function jobFor(text: string, delegation: { readonly canDelegate: boolean }): Job {
  const request = recognise(text);
  switch (request.kind) {
    case "map":
      return mapRepository(request.path, delegation);
    case "explore-part":
      return explorePart(request.path);
    case "find":
      return findSymbol(request);
    case "summarise":
      return summarise(request.path);
    case "history":
      return gitHistory(request);
    case "list":
      return browse(request);
    case "read":
      return readOne(request);
    case "search":
      return searchText(request);
    case "unknown":
      return refuse(text);
  }
}

function replay(job: Job, answerTo: (call: PlannedCall) => Seen | undefined): Plan {
  const all: Seen[] = [];
  let turn = job.next([]);
  while (!turn.done) {
    const { say, calls } = turn.value;
    const answers = calls.map(answerTo);
    const open = calls.filter((_, index) => answers[index] === undefined);
    if (open.length > 0) return { kind: "calls", text: say, calls: open };
    const seen = answers as readonly Seen[];
    all.push(...seen);
    turn = job.next(seen);
  }
  const { kind, text, told = [] } = turn.value;
  const unseen = all.filter((seen) => !seen.ok && !told.includes(seen));
  // What files and commits say goes to a terminal.
  return { kind, text: stripControls(text + unseenSection(unseen)) };
}

/** Says what it can't do and what it can. No calls, so nothing is ever asked. */
// biome-ignore lint/correctness/useYield: a job that needs nothing
export function* refuse(text: string): Job {
  const asked = text === "" ? "Nothing was asked." : `I can't do this: "${clip(text, 200)}"`;
  return { kind: "refusal", text: `${asked}\n\n${explanation}` };
}

const explanation = `This is Retinue's offline model, not a language model: it writes no text or code of its own and changes nothing.
For a language model set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use a local server: \`retinue -p … --provider ollama --model NAME\`.

What it can do, with the tools and without a network:
- map a repository                 "Map this repository"
- find definitions and usages      "Where is parseConfig defined?", "Who calls parseConfig?"
- summarise a file or a directory  "Summarise src/main.ts", "What does src/lib do?"
- tell the recent git history      "What changed recently?", "Last 20 commits"
- list, read, search               "List files in docs", "Read README.md", "Search for 'timeout'"
`;
