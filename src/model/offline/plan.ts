import { stripControls } from "../../lib/index.ts";
import { canonicalToolName, type Message, type ToolDeclaration } from "../../protocol/index.ts";
import { currentRequest } from "./current-request.ts";
import { browse, readOne, searchText } from "./direct.ts";
import { explorePart } from "./explore-part.ts";
import { explorer } from "./explore-parts.ts";
import { findSymbol } from "./find-symbol.ts";
import { gitHistory } from "./git-history.ts";
import type { Job, PlannedCall, Report, Seen } from "./job.ts";
import { mapRepository } from "./map-repository.ts";
import { recognise } from "./recognise.ts";
import { refuse } from "./refuse.ts";
import { unseenSection } from "./report.ts";
import { summarise } from "./summarise.ts";

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
  const wish = recognise(text);
  switch (wish.kind) {
    case "map":
      return mapRepository(wish.path, delegation);
    case "explore-part":
      return explorePart(wish.path);
    case "find":
      return findSymbol(wish);
    case "summarise":
      return summarise(wish.path);
    case "history":
      return gitHistory(wish);
    case "list":
      return browse(wish);
    case "read":
      return readOne(wish);
    case "search":
      return searchText(wish);
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
