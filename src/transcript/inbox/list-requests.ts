import { existsSync } from "node:fs";
import type { ApprovalAnswer, ApprovalQuestion, SessionId } from "../../protocol/index.ts";
import { type SessionSearch, sessionPlaces } from "../catalog/list-sessions.ts";
import { isInUse } from "../catalog/summarize-session.ts";
import { sessionPaths } from "../session-paths.ts";
import { readInbox } from "./inbox.ts";

export interface ListedRequest {
  readonly question: ApprovalQuestion;
  readonly askedAt: number;
  readonly status: "waiting" | "answered" | "withdrawn";
  readonly answer?: ApprovalAnswer | undefined;
  readonly inboxPath: string;
  /** If false, an answer is stored until the session is resumed. */
  readonly isRunning: boolean;
}

export interface RequestSearch extends SessionSearch {
  /** Restricts the search to one session, by its complete id. */
  readonly sessionId?: SessionId;
}

/** Lists all approval requests of the sessions, grouped by session, oldest first. */
export function listRequests({ sessionId, ...search }: RequestSearch): readonly ListedRequest[] {
  return sessionPlaces(search)
    .filter((place) => sessionId === undefined || place.sessionId === sessionId)
    .flatMap((place) => {
      const paths = sessionPaths(place);
      if (!existsSync(paths.inbox)) return [];
      const isRunning = isInUse(paths);
      return [...readInbox(paths.inbox).requests.values()].map(
        ({ question, askedAt, answer, isWithdrawn }): ListedRequest => ({
          question,
          askedAt,
          status: answer ? "answered" : isWithdrawn ? "withdrawn" : "waiting",
          answer: answer?.answer,
          inboxPath: paths.inbox,
          isRunning,
        }),
      );
    });
}
