import type { ClientRequest, RequestOptions } from "node:http";

/** Opens requests to one address. */
export interface Connector {
  open(url: URL, options: Pick<RequestOptions, "method" | "headers">): ClientRequest;
  /** Did this address ever answer? A refusal by a server that was there a moment ago is worth another try. */
  reached: boolean;
}
