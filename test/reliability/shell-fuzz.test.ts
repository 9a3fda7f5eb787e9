import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasContainer } from "../torture/run-lines.ts";
import { createOpenPlace, culprits } from "../torture/shell-fuzz.ts";
import { createStage, type Stage } from "../torture/shell-stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = createStage();
});
afterAll(() => stage.remove());

describe.runIf(hasContainer)("the container for generated command lines", () => {
  it("shows which lines change, reveal or start something", async () => {
    const harmless = [
      "cat f.txt",
      "git log -p",
      "git diff --stat",
      "ls -R",
      "git describe --dirty --always",
      "sleep 9 &",
    ];
    const harmful = [
      ["echo x > new.txt", "changed project"],
      ["chmod 600 f.txt", "changed project/f.txt"],
      ["git rm -q --cached f.txt", "changed project/.git"],
      ["touch {CANARY}", "changed "],
      ["touch /tmp/x", "left the file /tmp/x"],
      ["cat li*", "reveals a secret"],
      ["cat < hard", "reveals a secret"],
      ["wc -l ~/.ssh/id", "read home/.ssh/id"],
      ["/usr/bin/git log -p", "changed "],
      ["env -i git status", "changed "],
      ["cat < /dev/tcp/127.0.0.1/9", "used the network"],
      ["cat < /dev/tcp/192.0.2.1/9", "used the network"],
      ["env -i setsid -f sleep 9", "left the process"],
    ] as const;
    const lines = harmful.flatMap(([line], index) => [harmless[index % harmless.length]!, stage.place(line)]);
    const found = await culprits(lines, createOpenPlace(stage));
    const missed = harmful.filter(
      ([line, symptom]) => !found.some((each) => each.startsWith(symptom) && each.endsWith(`: ${stage.place(line)}`)),
    );
    expect({ missed, found }).toEqual({ missed: [], found });
    expect(found).toHaveLength(harmful.length);
  });
});
