import type { ReactNode } from "react";
import type { WaitingApproval } from "../../protocol/index.ts";
import { groupBy } from "../parts/group-by.ts";
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
          No requests are waiting. The title of this tab shows their number as soon as there are any.
        </p>
      )}
      {[...groups].map(([id, requests]) => {
        const session = sessions?.find((each) => each.id === id);
        return (
          <article key={id} aria-label={`Requests in ${session?.title ?? id}`}>
            <p className="inbox-where">
              <a href={linkTo({ page: "session", id, agent: requests[0]?.question.agentId })}>{session?.title ?? id}</a>
              <span className="dim"> {session?.worker}</span>
            </p>
            <RequestList approvals={requests} pathOf={pathOf} />
          </article>
        );
      })}
    </main>
  );
}

/** The names of the agents in between are unknown here. */
function pathOf({ path, agentType }: WaitingApproval["question"]): string {
  const between = path.length > 2 ? ["…"] : [];
  return ["main", ...between, ...(path.length > 0 ? [agentType] : [])].join(" › ");
}
