// A program that opens a session with the options that it is sent, sends one prompt, and reports how the run ended.

import { once } from "node:events";
import { openSession, type SessionOptions } from "../../src/app/index.ts";

/** The message that this program is sent. */
export interface Elsewhere {
  readonly options: SessionOptions;
  readonly prompt: string;
}

// Without a listener, nothing would keep this process running while it is waiting for its message.
const [{ options, prompt }] = (await once(process, "message")) as [Elsewhere];
const session = await openSession(options);
const { outcome, reason } = await session.prompt(prompt).result;
await session.close();
process.send?.({ outcome, reason });
process.disconnect();
