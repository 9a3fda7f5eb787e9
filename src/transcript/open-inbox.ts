import type { Inbox } from "../ports/index.ts";
import type { InboxOptions } from "./inbox.ts";
import type { ListedRequest, RequestSearch } from "./list-requests.ts";

/** The approvals of a session. Most sessions have none: what it takes is loaded when the first one comes. */
export async function openInbox(options: InboxOptions): Promise<Inbox> {
  const inbox = await import("./inbox.ts");
  return inbox.openInbox(options);
}

/** What was ever asked in the sessions of a place. */
export async function listRequests(search: RequestSearch): Promise<readonly ListedRequest[]> {
  const requests = await import("./list-requests.ts");
  return requests.listRequests(search);
}
