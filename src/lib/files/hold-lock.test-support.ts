import { createInterface } from "node:readline";
import { tryLock } from "./file-lock.ts";

// Tries to take a lock for each line of input, prints the result, and holds the lock until the input ends.
const path = process.argv[2] ?? "";
say("ready");
for await (const _ of createInterface({ input: process.stdin })) {
  say("release" in tryLock(path) ? "owner" : "held");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
