import type { Exchange, ExchangeListener } from "../http/connection.ts";
import type { HttpRequest } from "../http/request-head.ts";

/** Sends requests to one address. */
export interface Connector {
  /** Throws for a header or an address that can't be written. */
  send(request: HttpRequest, listener: ExchangeListener): Exchange;
  /** Did this address ever answer? A refusal by a server that was there a moment ago is worth another try. */
  reached: boolean;
}
