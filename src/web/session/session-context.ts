import { createContext, useContext } from "react";
import type { SessionView } from "../../client/index.ts";
import type { SessionId } from "../../protocol/index.ts";
import { withNames } from "./agent/agent-words.ts";

/** The session that is shown. */
export interface ShownSession {
  readonly id: SessionId;
  /** Returns the newest view, for components that need not be redrawn when it changes. */
  readonly view: () => SessionView;
}

export const SessionContext = createContext<ShownSession | undefined>(undefined);

export function useSessionId(): SessionId {
  return useSession().id;
}

/** Returns a function that replaces agent ids in a text with names. */
export function useNames(): (text: string) => string {
  const { view } = useSession();
  return (text) => withNames(text, view());
}

function useSession(): ShownSession {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("This component must be inside a SessionIdContext.");
  return session;
}
