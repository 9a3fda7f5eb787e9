// A program that runs a session whose worker is the process that started this one. Refuses to use the project's files.

import "./watch-files.ts";

import { once } from "node:events";
import type { WorkerFacts } from "../../src/ports/index.ts";
import { type Observed, observeSession, type WalkOptions } from "./observe-session.ts";
import { touched } from "./watch-files.ts";
import { type Call, type Channel, connect, linkedWorker } from "./worker-link.ts";

export interface Start {
  readonly facts: WorkerFacts;
  readonly options: WalkOptions;
}

export type Report = Observed & { readonly touched: readonly string[] };

const [{ facts, options }] = (await once(process, "message")) as [Start];
const channel: Channel = {
  send: (packet) => process.send?.(packet),
  receive: (listener) => process.on("message", listener),
};
let call: Call | undefined;
const worker = linkedWorker(facts, (handlers) => {
  call = connect(channel, handlers);
  return call;
});
const observed = await observeSession(
  () => worker,
  options,
  (count) => call?.("between", [count]),
);
await call?.("end", [{ ...observed, touched } satisfies Report]);
process.disconnect();
