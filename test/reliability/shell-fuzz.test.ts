import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { hasContainer, runLines } from "../torture/run-lines.ts";
import { createOpenPlace, culprits, shellFuzz, shellFuzzSandboxed } from "../torture/shell-fuzz.ts";
import { createStage, type Stage } from "../torture/shell-stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = createStage();
});
afterAll(() => stage.remove());

describe("the container for generated command lines", needs("bubblewrap", hasContainer), () => {
  it.each([
    ["echo x > new.txt", "changed project"],
    ["chmod 600 f.txt", "changed project/f.txt"],
    ["git rm -q --cached f.txt", "changed project/.git"],
    ["touch {CANARY}", "changed canary"],
    ["touch /tmp/x", "left the file /tmp/x"],
    ["wc -l ~/.ssh/id", "read home/.ssh/id"],
    ["cat < hard", "read project/.env"],
    ["/usr/bin/git log -p", "changed canary"],
    ["env -i git status", "changed canary"],
    ["cat < /dev/tcp/127.0.0.1/9", "used the network: 1 connections"],
    ["cat < /dev/tcp/192.0.2.1/9", "used the network: 1 packets without a route"],
    // A line's process group is killed when the line ends, so this line ends only after its process has left the group.
    ["env -i setsid -f sleep 9; until grep -qx sleep /proc/[0-9]*/comm; do :; done", "left the process (sleep)"],
  ])("detects what `%s` does", async (line, symptom) => {
    const { symptoms } = await runLines([stage.place(line)], createOpenPlace(stage));
    stage.reset();
    expect(symptoms.filter((each) => each.startsWith(symptom))).not.toEqual([]);
  });

  it("finds the lines that caused an effect", async () => {
    const lines = [
      "cat f.txt",
      "cat li*",
      "git describe --dirty --always",
      "sleep 9 &",
      "chmod 600 f.txt",
      "git log -p",
    ];
    expect(await culprits(lines, createOpenPlace(stage))).toEqual([
      "reveals a secret: cat li*",
      "changed project/f.txt: chmod 600 f.txt",
    ]);
  });
});

describe("generated command lines that need no approval", () => {
  it.for([
    { place: "without a sandbox", run: shellFuzz, count: 300 },
    { place: "in the read-only profile of the sandbox", run: shellFuzzSandboxed, count: 100 },
  ])("do no harm $place", async ({ run, count }, { skip }) => {
    const report = await run({ seed: 1, count, until: Number.POSITIVE_INFINITY });
    if (report.skipped !== undefined) skip(report.skipped.join());
    expect(report).toMatchObject({ firstFailure: undefined, passed: report.run });
    expect(report.work["allowed"]).toBeGreaterThan(count / 30);
  });
});
