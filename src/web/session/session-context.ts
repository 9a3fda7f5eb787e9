import { createContext, useContext, useSyncExternalStore } from "react";
import { type AgentView, agentOf, type SessionView } from "../../client/index.ts";
import type { AgentId, SessionId } from "../../protocol/index.ts";
import { withNames } from "./agent/agent-words.ts";

/** The session that is shown. */
export interface ShownSession {
  readonly id: SessionId;
  /** Returns the newest view, for components that need not be redrawn when it changes. */
  readonly view: () => SessionView;
  /** Calls the listener when the view has changed, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void;
}

export const SessionContext = createContext<ShownSession | undefined>(undefined);

export function useSessionId(): SessionId {
  return useSession().id;
}

/** Returns a function that replaces agent ids in text with names. */
export function useNames(): (text: string) => string {
  const { view } = useSession();
  return (text) => withNames(text, view());
}

/**
 * Follows something about an agent. The component is redrawn only if the selected value changes. Undefined if there is
 * no such agent.
 */
export function useAgent<Value extends string>(
  agentId: AgentId | undefined,
  select: (agent: AgentView) => Value | undefined,
): Value | undefined {
  const { view, subscribe } = useSession();
  return useSyncExternalStore(subscribe, () => {
    const agent = agentId === undefined ? undefined : agentOf(view(), agentId);
    return agent === undefined ? undefined : select(agent);
  });
}

function useSession(): ShownSession {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("This component must be inside a SessionContext.");
  return session;
}
