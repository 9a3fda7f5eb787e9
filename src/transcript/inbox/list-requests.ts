import { existsSync } from "node:fs";
import type { ApprovalAnswer, ApprovalQuestion, SessionId } from "../../protocol/index.ts";
import { placesOf, type SessionSearch } from "../catalog/list-sessions.ts";
import { isInUse } from "../catalog/summarize-session.ts";
import { sessionPaths } from "../session-paths.ts";
import { readInbox } from "./inbox.ts";

export interface ListedRequest {
  readonly question: ApprovalQuestion;
  readonly askedAt: number;
  readonly status: "waiting" | "answered" | "withdrawn";
  readonly answer?: ApprovalAnswer | undefined;
  readonly inboxPath: string;
  /** False: an answer is kept until the session goes on. */
  readonly isRunning: boolean;
}

export interface RequestSearch extends SessionSearch {
  /** One session only, by its whole id. */
  readonly sessionId?: SessionId;
}

/** What was ever asked in the sessions of a place, by session, the oldest first. */
export function listRequests({ sessionId, ...search }: RequestSearch): readonly ListedRequest[] {
  return placesOf(search)
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
