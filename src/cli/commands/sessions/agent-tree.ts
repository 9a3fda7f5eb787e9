import { matchPrefix, UserError } from "../../../lib/index.ts";
import { type AgentId, MAIN_AGENT, type SubagentEvent } from "../../../protocol/index.ts";
import type { AgentFile } from "../../progress/agent-transcripts.ts";
import type { AgentView } from "../../progress/agent-view.ts";
import { createAgentViews } from "../../progress/agent-views.ts";

/** The agents of a session that is over, or goes on elsewhere, as their transcripts tell of them. */
export function agentsOf(files: readonly AgentFile[]): readonly AgentView[] {
  const parents = new Map<AgentId, AgentId>();
  for (const { agentId, lines } of files) {
    const [created] = lines;
    if (created?.type === "agent.created") parents.set(agentId, created.parent.agentId);
  }
  const views = createAgentViews();
  for (const { agentId, lines } of files) {
    const [created] = lines;
    const agentType = created?.type === "agent.created" ? created.agentType : "unknown";
    const envelope = { type: "subagent.event", agentId, agentType, path: pathTo(agentId, parents) } as const;
    for (const event of lines) seeAny(views, { ...envelope, event });
  }
  return views.inOrder();
}

/** Throws a `UserError` that lists what the prefix may have meant. */
export function agentByPrefix(files: readonly AgentFile[], prefix: string): AgentFile {
  const match = matchPrefix(
    files.map(({ agentId }) => agentId),
    prefix,
  );
  const found = match.kind === "one" ? files.find(({ agentId }) => agentId === match.id) : undefined;
  if (found) return found;
  const ids = (match.kind === "many" ? match.ids : files.map(({ agentId }) => agentId)).slice(0, 8).join(", ");
  const message =
    match.kind === "many"
      ? `${match.ids.length} agents begin with "${prefix}"`
      : `No agent of this session begins with "${prefix}"`;
  const cure = files.length === 0 ? "It has no subagents." : `There are ${ids}${files.length > 8 ? ", …" : ""}.`;
  throw new UserError(message, { code: "session", cure, exitCode: 2 });
}

/** A damaged line must not hide the others. */
function seeAny(views: ReturnType<typeof createAgentViews>, event: SubagentEvent): void {
  try {
    views.see(event, "at" in event.event ? event.event.at : 0);
  } catch {
    // What can't be folded is told of where the transcript itself is shown.
  }
}

function pathTo(agentId: AgentId, parents: ReadonlyMap<AgentId, AgentId>): readonly AgentId[] {
  const path: AgentId[] = [];
  for (let at: AgentId | undefined = agentId; at !== undefined && at !== MAIN_AGENT; at = parents.get(at)) {
    // Files can say anything, also that an agent is its own grandchild.
    if (path.includes(at)) break;
    path.unshift(at);
  }
  return path;
}
