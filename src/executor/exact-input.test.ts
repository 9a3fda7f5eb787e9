import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { allow, bash, createRealProject, type RealProject } from "./real-calls.test-support.ts";

let project: RealProject;
beforeEach(() => {
  project = createRealProject();
  project.put("evil.sh", "echo x > made\n");
  project.put("evil.js", 'require("node:fs").writeFileSync("made", "x")\n');
  project.put("true.sh", "true\n");
  project.put("made.txt", "made\n");
});
afterEach(() => project.remove());

/** Programs that act on what they read, with the file that contains something harmful for them. */
const programs = [
  { program: "bash", evil: "evil.sh" },
  { program: "sh -s", evil: "evil.sh" },
  { program: "sh", evil: "evil.sh" },
  { program: "bash /dev/stdin", evil: "evil.sh" },
  { program: "env bash", evil: "evil.sh" },
  { program: "timeout 5 bash", evil: "evil.sh" },
  { program: "node", evil: "evil.js" },
  { program: "node -", evil: "evil.js" },
  { program: "xargs touch", evil: "made.txt" },
  { program: "tee made", evil: "made.txt" },
] as const;

/** Ways to connect something to the standard input of a command. */
const feeds = [
  ...["cat EVIL | RUN", "RUN < EVIL", "RUN 0< EVIL", "RUN <> EVIL", "cat EVIL |& RUN", "cat EVIL | cat | RUN"],
  ...["{ RUN; } < EVIL", "(RUN) < EVIL", "cat EVIL | { RUN; }", "cat EVIL | (RUN)", "cat EVIL | if true; then RUN; fi"],
  ...["if RUN; then ls; fi < EVIL", "for i in 1; do RUN; done < EVIL", "while RUN; do break; done < EVIL"],
  ...[
    'RUN <<< "$(cat EVIL)"',
    "RUN << E\n$(cat EVIL)\nE",
    "cat EVIL > >(RUN); sleep 0.2",
    "cat EVIL | tee >(RUN); sleep 0.2",
  ],
  ...["exec < EVIL; RUN", "exec 3< EVIL; RUN <&3", "exec 3< EVIL; RUN 0>&3", "RUN 3< EVIL <&3", "RUN < <(cat EVIL)"],
  ...["cat EVIL | ! RUN", "cat EVIL | time RUN", "true && RUN < EVIL", "RUN; cat EVIL | RUN", "echo $(RUN < EVIL)"],
  ...["cat EVIL | case a in a) RUN;; esac", "cat EVIL | while true; do RUN; break; done", "{ exec < EVIL; RUN; }"],
] as const;

describe("a rule without a wildcard", () => {
  it("covers a command only with the input that it was shown with", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...programs), fc.constantFrom(...feeds), async ({ program, evil }, feed) => {
        rmSync(join(project.root, "made"), { force: true });
        const command = feed.replaceAll("RUN", program).replaceAll("EVIL", evil);
        const rules = [allow(`Bash(${program})`), allow("Bash(sleep 0.2)"), allow("Read")];
        const [found] = await project.run([bash(command)], { rules });
        expect(existsSync(join(project.root, "made")), `${command}: ${found?.outcome} ${found?.text}`).toBe(false);
        expect(found?.outcome).toBe("denied");
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  it("does not cover the same program with other input than in the rule", async () => {
    for (const given of ["bash <<< 'true'", "bash << E\ntrue\nE", "echo true | bash", "bash < true.sh"]) {
      const rules = [allow(`Bash(${given})`)];
      const [same, other, without] = await project.run(
        [bash(given), bash("bash <<< 'echo x > made'"), bash("bash"), bash("bash < evil.sh")],
        { rules },
      );
      expect([same?.outcome, other?.outcome, without?.outcome]).toEqual(["ok", "denied", "denied"]);
    }
    expect(existsSync(join(project.root, "made"))).toBe(false);
  });

  it.each([
    "node < /dev/null",
    "node 0</dev/null",
    "node <&-",
    "node",
    "node | cat",
    "node && node; (node)",
    "node > /dev/null",
  ])("covers the command with empty input: %s", async (command) => {
    const [found] = await project.run([bash(command)], { rules: [allow("Bash(node)")] });
    expect(found?.outcome).toBe("ok");
  });
});

it("a wildcard that covers no words of a shell does not cover its input", async () => {
  const rules = ["Bash(bash:*)", "Bash(xargs:*)", "Bash(sh *)"].map(allow);
  const found = await project.run(["bash < evil.sh", "cat evil.sh | sh", "echo made | xargs touch"].map(bash), {
    rules,
  });
  expect(found.map(({ outcome }) => outcome)).toEqual(["denied", "denied", "denied"]);
});
