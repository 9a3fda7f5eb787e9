import { createInterface } from "node:readline";
import { tryLock } from "./file-lock.ts";

// A process that tries for a lock when told "go", prints the result, and holds it until its input ends.
const path = process.argv[2] ?? "";
say("ready");
for await (const _ of createInterface({ input: process.stdin })) {
  say("release" in tryLock(path) ? "owner" : "held");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
