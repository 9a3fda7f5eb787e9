import { type ReactNode, useCallback } from "react";
import type { AgentInfo, SessionId, SessionInfo, WaitingApproval } from "../../protocol/index.ts";
import { groupBy } from "../parts/group-by.ts";
import { useLoaded } from "../parts/use-loaded.ts";
import { pathLabel } from "../session/agent/agent-words.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { RequestList } from "./request-list.tsx";

/** Shows all sessions' open requests, oldest first, grouped by session. */
export function InboxPage(): ReactNode {
  const { approvals, sessions } = useStore(useServer().store);
  const groups = groupBy(approvals, ({ question }) => question.sessionId);
  return (
    <main className="sessions inbox" tabIndex={0}>
      <h1>Waiting for you</h1>
      {approvals.length === 0 && (
        <p className="dim empty">
          No requests are waiting. When there are any, the title of this tab shows their number.
        </p>
      )}
      {/* When a session has no more requests, the focus goes to the next session's. */}
      <div>
        {[...groups].map(([id, requests]) => (
          <SessionRequests key={id} id={id} session={sessions?.find((each) => each.id === id)} approvals={requests} />
        ))}
      </div>
    </main>
  );
}

interface SessionRequestsProps {
  readonly id: SessionId;
  readonly session: SessionInfo | undefined;
  readonly approvals: readonly WaitingApproval[];
}

/** Shows one session's open requests. */
function SessionRequests({ id, session, approvals }: SessionRequestsProps): ReactNode {
  const { client } = useServer();
  const asking = [...new Set(approvals.flatMap(({ question }) => question.path))].sort().join(" ");
  // The agents' names and tasks are not part of a request. They are loaded again when another agent asks.
  const { value: agents = [] } = useLoaded(
    useCallback(async () => (asking === "" ? [] : client.sessions.open(id).agents()), [client, id, asking]),
  );
  const title = session?.title ?? id;
  return (
    <article aria-label={`Requests in ${title}`}>
      <p className="inbox-where">
        <a href={linkTo({ page: "session", id, agent: approvals[0]?.question.agentId })}>{title}</a>
        <span className="dim"> {session?.worker}</span>
      </p>
      <RequestList approvals={approvals} pathOf={(question) => pathOf(question, agents)} />
    </article>
  );
}

/** Returns the names of the agents down to the one that is asking. Until they are loaded, only its type is known. */
function pathOf({ path, agentType }: WaitingApproval["question"], agents: readonly AgentInfo[]): string {
  const known = new Map(agents.map((agent) => [agent.agentId, agent]));
  return pathLabel(path.map((id, index) => known.get(id) ?? (index === path.length - 1 ? { agentType } : undefined)));
}
