import { useServer } from "./server-context.ts";
import { useStore } from "./store.ts";

/** Returns why nothing can be sent to the server at the moment; undefined if something can. */
export function useOffline(): string | undefined {
  const { link } = useStore(useServer().store);
  if (link.state === "lost") return "Not connected: nothing can be sent until the connection is back.";
  if (link.state !== "refused") return undefined;
  return link.error?.status === 401
    ? "Not signed in: nothing can be sent until you open the link that the server printed."
    : "Not connected: nothing can be sent until you reload the page.";
}
