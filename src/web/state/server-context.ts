import { createContext, useContext } from "react";
import type { Client } from "../../client/index.ts";
import type { ServerStore } from "./server-store.ts";

/** The server that the page uses. */
export interface Server {
  readonly client: Client;
  readonly store: ServerStore;
}

export const ServerContext = createContext<Server | undefined>(undefined);

export function useServer(): Server {
  const server = useContext(ServerContext);
  if (server === undefined) throw new Error("This component must be inside a ServerContext.");
  return server;
}
