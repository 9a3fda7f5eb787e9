// Runs a command that creates protected files and never ends, and prints a line when they exist.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalWorkspace } from "../local-workspace.ts";
import { createSandbox } from "./create-sandbox.ts";

const [root = "", state = ""] = process.argv.slice(2);
const sandbox = createSandbox({
  ...{ mode: "require", scratch: join(state, "session/scratch"), userHome: tmpdir(), writable: [], state },
  ...{ hidden: [], shown: [], domains: [], tell: () => undefined },
});
const workspace = createLocalWorkspace({ root, environment: process.env, sandbox });
await sandbox.ready();
const plant = "mkdir .git/hooks; echo x > .git/hooks/pre-commit; echo x > .claude/evil.md; echo done";
workspace.spawn({
  command: "bash",
  args: ["-c", `trap '' TERM; while [ ! -e .claude/own.md ]; do sleep 0.02; done; ${plant}; sleep 60; sleep 60`],
  tag: `until-killed-${process.pid}`,
  confined: true,
  onOutput: (chunk) => process.stdout.write(chunk),
});
await workspace.write(join(root, ".claude/own.md"), Buffer.from("own"), {});
