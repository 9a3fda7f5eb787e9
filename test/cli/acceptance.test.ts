import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ApiServer, Reply } from "../../src/testing/index.ts";
import { createPlace, createPlaceWithSettings, resultOf, retinue, serve } from "./command-line.ts";

const says = (content: string): Reply => ({ content });
const words = ["-p", "Make it", "--output-format", "json"];
const talker = (): Promise<ApiServer> => serve(() => says("Made."));
const check = (command: string) => ["--acceptance", command];

describe("--acceptance", () => {
  it("reports verified work if every command exits with 0", async () => {
    const place = createPlaceWithSettings();
    const given = [...check("touch one"), ...check("touch two")];
    const run = await retinue([...words, ...given], { ...place, server: await talker() });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(resultOf(run)).toMatchObject({ outcome: "succeeded", is_error: false, verified: true });
    expect(["one", "two"].map((name) => existsSync(join(place.cwd, name)))).toEqual([true, true]);
  });

  it("results in exit code 4, and shows the output, if a command fails again after a second attempt", async () => {
    const server = await serve([says("Made."), says("Mended.")]);
    const place = createPlace();
    const run = await retinue([...words, ...check("echo the tests are red; exit 7")], { ...place, server });
    expect(run.code).toBe(4);
    const { session_id: session } = resultOf(run);
    expect(resultOf(run)).toMatchObject({
      is_error: true,
      outcome: "succeeded",
      verified: false,
      result: "Mended.",
      errors: [expect.stringContaining("exit code 7")],
      acceptance: { command: "echo the tests are red; exit 7", ok: false, exitCode: 7 },
    });
    expect(run.stderr).toContain(
      'retinue: The work is not verified: "echo the tests are red; exit 7" ended with exit code 7.',
    );
    expect(run.stderr).toContain("the tests are red\n");
    expect((await retinue(["sessions", "list"], place)).stdout).toMatch(/not verified {2}2 /);
    expect(run.stderr).toContain(
      `retinue: To continue: retinue -p --resume ${session} --acceptance 'echo the tests are red; exit 7' "…"`,
    );
  });

  it("reports verified work if the second attempt fixes it", async () => {
    const place = createPlace();
    const write = { tool: "Write", input: { file_path: "made.txt", content: "made" } };
    const server = await serve([says("Made."), { content: [write] }, says("Now it is.")]);
    const given = [...check("test -f made.txt"), "--permission-mode", "acceptEdits"];
    const run = await retinue([...words, ...given], { ...place, server });
    expect(run.code).toBe(0);
    expect(resultOf(run)).toMatchObject({ verified: true, result: "Now it is." });
  });

  it("does not run if a rule denies it, and the work is not verified", async () => {
    const place = createPlace();
    const given = [...check("touch one"), "--disallowed-tools", "Bash(touch:*)"];
    const run = await retinue([...words, ...given], { ...place, server: await talker() });
    expect(run.code).toBe(4);
    expect(resultOf(run)).toMatchObject({ verified: false, acceptance: { exitCode: null } });
    expect(run.stderr).toContain('retinue: The work is not verified: "touch one" was not run.');
    expect(existsSync(join(place.cwd, "one"))).toBe(false);
  });

  it("can come from the definition of the --agent agent, whose rules then apply", async () => {
    const place = createPlace();
    const directory = join(place.home, "..", ".agents/agents");
    mkdirSync(directory, { recursive: true });
    const text =
      "---\nname: maker\ndescription: Makes things.\ntools: Read, Bash\nacceptance: test -f made.txt\n---\nMake.\n";
    writeFileSync(join(directory, "maker.md"), text);
    const given = ["--agent", "maker", "--allowed-tools", "Bash(test:*)"];
    const red = await retinue([...words, ...given], { ...place, server: await talker() });
    expect(red.code).toBe(4);
    writeFileSync(join(place.cwd, "made.txt"), "made");
    const green = await retinue([...words, ...given], { ...place, server: await talker() });
    expect(green.code).toBe(0);
    expect(resultOf(green)).toMatchObject({ verified: true });
  });

  it("reports no verification if none was requested, or if the run did not succeed", async () => {
    const plain = await retinue(words, { ...createPlace(), server: await talker() });
    expect(resultOf(plain)).not.toHaveProperty("verified");
    const list = { tool: "LS", input: { path: "." } };
    const server = await serve(() => ({ content: [list] }));
    const cut = await retinue([...words, ...check("true"), "--max-turns", "1"], { ...createPlace(), server });
    expect(cut.code).toBe(3);
    expect(resultOf(cut)).not.toHaveProperty("verified");
  });
});
