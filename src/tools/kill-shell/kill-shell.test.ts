import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createBashTool } from "../bash/bash.ts";
import { createShells } from "../bash/shells.ts";
import { createTestTexts } from "../shared/test-texts.test-support.ts";
import { isAlive, testContext } from "../shared/tool-context.test-support.ts";
import { callTool, createToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createKillShellTool } from "./kill-shell.ts";

it("ends processes left running by a finished shell", async () => {
  const place = createToolPlace();
  const outputDirectory = mkdtempSync(join(tmpdir(), "output-"));
  const shells = createShells();
  const bash = createBashTool({ workspace: place.workspace, shells, outputDirectory, results: createTestTexts() });
  const command = "setsid sleep 81 >/dev/null 2>&1 & echo $! > pid";
  await callTool(bash, { command, run_in_background: true }, testContext());
  const [shell] = shells.list("main");
  await shell?.exited;
  const pid = Number(place.get("pid"));
  expect(isAlive(pid)).toBe(true);
  const output = await callTool(createKillShellTool({ shells }), { shell_id: shell?.id ?? "" }, testContext());
  expect(textOfOutput(output)).toContain("any processes that it left running were stopped");
  expect(isAlive(pid)).toBe(false);
  place.remove();
  rmSync(outputDirectory, { recursive: true });
});
