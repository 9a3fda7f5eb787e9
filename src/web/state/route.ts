import { useSyncExternalStore } from "react";
import type { AgentId, SessionId } from "../../protocol/index.ts";

/** The content that the page shows. It is part of the address, so that reloading and going back work. */
export type Route =
  | { readonly page: "sessions" }
  | { readonly page: "inbox" }
  | { readonly page: "agents"; readonly agent?: string | undefined }
  | { readonly page: "new-agent" }
  | { readonly page: "session"; readonly id: SessionId; readonly agent?: AgentId | undefined };

/** Routes are in the fragment, because the server uses paths such as /session/ID for its API. */
function parseRoute(hash: string): Route {
  const [page, id, agent] = hash.replace(/^#\/?/, "").split("/").map(decodePart);
  if (page === "inbox" || page === "new-agent") return { page };
  if (page === "agents") return { page, agent: id || undefined };
  if (page === "session" && id)
    return { page, id: id as SessionId, agent: (agent || undefined) as AgentId | undefined };
  return { page: "sessions" };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

export function linkTo(route: Route): string {
  if (route.page === "sessions") return "#/";
  if (route.page === "agents" && route.agent !== undefined) return `#/agents/${encodeURIComponent(route.agent)}`;
  if (route.page !== "session") return `#/${route.page}`;
  const agent = route.agent === undefined ? "" : `/${encodeURIComponent(route.agent)}`;
  return `#/session/${encodeURIComponent(route.id)}${agent}`;
}

export function goTo(route: Route): void {
  location.hash = linkTo(route);
}

export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => location.hash));
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}
