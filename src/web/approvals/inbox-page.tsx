import type { ReactNode } from "react";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { ApprovalCard } from "./approval-card.tsx";

/** The requests of all sessions that wait for an answer, oldest first. */
export function InboxPage(): ReactNode {
  const { approvals, sessions } = useStore(useServer().store);
  return (
    <main className="sessions inbox" tabIndex={0}>
      <h1>Waiting for you</h1>
      {approvals.length === 0 && (
        <p className="dim empty">
          Nothing needs you now. The title of this tab shows a number as soon as an agent asks for something.
        </p>
      )}
      {approvals.map((approval) => {
        const { question } = approval;
        const session = sessions?.find(({ id }) => id === question.sessionId);
        const path = ["main", ...question.path.slice(0, -1), ...(question.path.length > 0 ? [question.agentType] : [])];
        return (
          <article key={question.requestId} aria-label={`Request in ${session?.title ?? question.sessionId}`}>
            <p className="inbox-where">
              <a href={linkTo({ page: "session", id: question.sessionId, agent: question.agentId })}>
                {session?.title ?? question.sessionId}
              </a>
              <span className="dim"> {session?.worker}</span>
            </p>
            <ApprovalCard approval={approval} path={path.join(" › ")} />
          </article>
        );
      })}
    </main>
  );
}
