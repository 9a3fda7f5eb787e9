import { createInterface } from "node:readline";
import { errorCode } from "../lib/index.ts";
import { acquireLock } from "./lock.ts";

// A process that tries for a lock when told "go", says what came of it, and holds it until its input ends.
const path = process.argv[2] ?? "";
say("ready");
for await (const _ of createInterface({ input: process.stdin })) {
  try {
    acquireLock(path, "It");
    say("owner");
  } catch (error) {
    say(errorCode(error) ?? String(error));
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
