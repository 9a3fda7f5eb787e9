import { createContext, useContext } from "react";
import type { SessionId } from "../../protocol/index.ts";

/** Id of the session that is shown. */
export const SessionIdContext = createContext<SessionId | undefined>(undefined);

export function useSessionId(): SessionId {
  const id = useContext(SessionIdContext);
  if (id === undefined) throw new Error("There is no session above this component.");
  return id;
}
