import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolContext, Workspace } from "../../ports/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../../workspace/index.ts";
import { createBashOutputTool } from "../bash-output/bash-output.ts";
import { createTestTexts } from "../shared/test-texts.test-support.ts";
import { testContext, textOfOutput } from "../shared/tool-context.test-support.ts";
import { createBashTool } from "./bash.ts";
import { createShells } from "./shells.ts";

let top: string;
let root: string;
let sandbox: Sandbox;
let workspace: Workspace;
beforeEach(() => {
  // Commands have their own /tmp.
  top = realpathSync(mkdtempSync("/var/tmp/bash-sandbox-"));
  root = join(top, "project");
  mkdirSync(root);
  sandbox = createSandbox({
    ...{
      mode: "require",
      scratch: join(top, "scratch"),
      userHome: top,
      writable: [],
      hidden: [],
      shown: [],
      domains: [],
    },
    tell: () => undefined,
  });
  workspace = createLocalWorkspace({ root, environment: process.env, sandbox });
});
afterEach(async () => {
  await sandbox.close();
  rmSync(top, { recursive: true });
});

const shells = createShells();
const results = createTestTexts();

function bash(input: { command: string; run_in_background?: boolean }, own: Partial<ToolContext> = {}) {
  return createBashTool({ workspace, shells, results, outputDirectory: top }).run(input, { ...testContext(), ...own });
}

describe("Bash in a sandbox", () => {
  it("runs commands and reports refusals, and refuses to run without a required sandbox", async () => {
    const result = await bash({ command: `echo in > a; echo out > ${top}/b` });
    expect(existsSync(join(top, "b"))).toBe(false);
    if ((await sandbox.ready()).kind !== "on") {
      expect(textOfOutput(result)).toMatch(
        /^The settings require a sandbox for commands, and none is available: .*Tell the user\.$/,
      );
      expect(existsSync(join(root, "a"))).toBe(false);
      return;
    }
    expect(existsSync(join(root, "a"))).toBe(true);
    expect(textOfOutput(result)).toContain(`${top}/b is outside`);
    expect(result.details).toMatchObject({ exitCode: 1, sandbox: expect.stringContaining("allowWrite") });
  });

  it("runs commands and reports refusals in the background too", async () => {
    if ((await sandbox.ready()).kind !== "on") return;
    await bash({ command: `echo out > ${top}/b`, run_in_background: true });
    const [shell] = shells.list("main");
    await shell?.exited;
    const shown = await createBashOutputTool({ shells, results }).run({ bash_id: shell?.id ?? "" }, testContext());
    expect(textOfOutput(shown)).toContain(`${top}/b is outside`);
    await shells.release("main");
  });

  it("uses the read-only profile for commands that are allowed only because they are read-only, even in the background", async () => {
    if ((await sandbox.ready()).kind !== "on") return;
    const result = await bash({ command: "echo in > a; ls" }, { readsOnly: true });
    expect(textOfOutput(result)).toContain("this command ran read-only");
    await bash({ command: "echo in > a", run_in_background: true }, { readsOnly: true });
    const [shell] = shells.list("main");
    await shell?.exited;
    const shown = await createBashOutputTool({ shells, results }).run({ bash_id: shell?.id ?? "" }, testContext());
    expect(textOfOutput(shown)).toContain("this command ran read-only");
    await shells.release("main");
    expect(existsSync(join(root, "a"))).toBe(false);
  });

  it("hides denied files from read-only commands, and does not run them if the files can't be found", async () => {
    if ((await sandbox.ready()).kind !== "on") return;
    writeFileSync(join(root, ".env"), "SECRET");
    writeFileSync(join(root, "open"), "open");
    const command = "cat open .env";
    const hidden = (path: string): boolean => path.endsWith(".env");
    expect(textOfOutput(await bash({ command }, { readsOnly: true }))).toContain("SECRET");
    const shown = textOfOutput(await bash({ command }, { readsOnly: true, hidden }));
    expect(shown).toContain("open");
    expect(shown).not.toContain("SECRET");
    const unasked = await bash({ command }, { readsOnly: true, hidden: () => true, hidesPaths: false });
    expect(textOfOutput(unasked)).toContain("SECRET");
    workspace = { ...workspace, findHidden: async () => undefined };
    expect(await bash({ command }, { readsOnly: true, hidden })).toMatchObject({
      isError: true,
      content: expect.stringMatching(
        /^The command was not run\. .*too many files.* run the command again, which then needs the user's approval/,
      ),
    });
  });
});
