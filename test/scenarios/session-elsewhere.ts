// A program that runs a session whose worker connects from the process that started this one. Refuses to use the
// project's files.

import "./watch-files.ts";

import { once } from "node:events";
import type { RemoteWorker } from "../../src/link/index.ts";
import { startHub } from "../../src/link/worker-over-link.test-support.ts";
import { type Observed, observeSession, type WalkOptions } from "./observe-session.ts";
import { touched } from "./watch-files.ts";

/** Messages from this program to the process that started it. */
export type Message =
  /** The program is ready for the worker to connect. */
  | { readonly kind: "listening"; readonly url: string }
  /** A prompt has ended. The next one begins when this message is answered. */
  | { readonly kind: "between"; readonly count: number }
  | { readonly kind: "observed"; readonly report: Report };

export type Report = Observed & { readonly touched: readonly string[] };

const tell = (message: Message): void => void process.send?.(message);

// Without a listener, nothing would keep this process running while it is waiting for the worker.
process.on("message", () => undefined);
const [options] = (await once(process, "message")) as [WalkOptions];
const { hub, url } = await startHub();
const connected = new Promise<RemoteWorker>((resolve) => hub.onChange(resolve));
tell({ kind: "listening", url });
const worker = await connected;
const observed = await observeSession(
  () => worker,
  options,
  async (count) => {
    const changed = once(process, "message");
    tell({ kind: "between", count });
    await changed;
  },
);
tell({ kind: "observed", report: { ...observed, touched } });
await hub.close();
process.disconnect();
