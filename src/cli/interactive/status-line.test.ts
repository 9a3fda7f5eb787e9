import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { createStatusLine } from "./status-line.ts";

const facts = {
  session_id: "s",
  cwd: "/",
  model: { id: "m", display_name: "m" },
  workspace: { current_dir: "/", project_dir: "/" },
  version: "1",
  cost: { total_cost_usd: 0, total_duration_ms: 0 },
  state: "idle",
  agents: 0,
  cost_usd: 0,
  tokens: 0,
};
const run = (command: string) => createStatusLine({ type: "command", command, padding: 2 }, tmpdir())(facts);

it("returns the first line that the command prints, even if it then fails", async () => {
  expect(await run("cat; exit 1")).toEqual({ line: `  ${JSON.stringify(facts)}` });
  expect(await run("true")).toEqual({ line: "" });
});

it("says why a command that prints nothing has failed", async () => {
  expect(await run("echo no branch >&2; exit 3")).toEqual({ line: "", problem: "exit code 3, no branch" });
  expect(await run("exit 3")).toEqual({ line: "", problem: "exit code 3" });
  expect(await run("kill -9 $$")).toEqual({ line: "", problem: "ended by SIGKILL" });
});
