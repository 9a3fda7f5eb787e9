import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { textOf } from "../../src/protocol/index.ts";
import { mainLines, open, read, task } from "./delegation-place.ts";

const edit = (from: string, to: string) => ({
  name: "Edit",
  input: { file_path: "notes.txt", old_string: from, new_string: to },
});
const write = (path: string) => ({ name: "Write", input: { file_path: path, content: "made" } });
const bash = (command: string) => ({ name: "Bash", input: { command } });

it("goes back to an earlier prompt, with the files that tools of all agents have changed", async () => {
  const { session, model, home, cwd } = await open(
    {
      MAIN: [
        { text: "One." },
        { calls: [read] },
        { calls: [edit("alpha", "ALPHA")] },
        { calls: [edit("ALPHA", "Alpha"), bash("touch made-by-command"), task("PART: make it.")] },
        { text: "Two." },
        { text: "Three." },
        { text: "Another two." },
      ],
      PART: [{ calls: [write("made.txt"), write("touched.txt")] }, { text: "Made." }],
    },
    { permissionMode: "bypassPermissions" },
  );
  const file = (name: string) => readFileSync(join(cwd, name), "utf8");
  for (const words of ["MAIN: one", "two", "three"]) await session.prompt(words).result;
  expect([file("notes.txt"), file("made.txt")]).toEqual(["Alpha\nbeta\n", "made"]);
  writeFileSync(join(cwd, "touched.txt"), "by someone else");
  const prompts = await session.prompts();
  expect(prompts.map(({ text }) => text)).toEqual(["MAIN: one", "two", "three"]);
  const report = await session.rewind(prompts[1]?.id ?? "");
  expect(report).toEqual({
    prompt: "two",
    restored: ["notes.txt", "made.txt"],
    kept: [{ path: "touched.txt", reason: "it has been changed since" }],
    commands: ["touch made-by-command"],
  });
  expect(file("notes.txt")).toBe("alpha\nbeta\n");
  expect(() => file("made.txt")).toThrow("ENOENT");
  expect(file("touched.txt")).toBe("by someone else");
  expect((await session.prompts()).map(({ text }) => text)).toEqual(["MAIN: one"]);

  const before = model.requests("MAIN").length;
  await session.prompt("another two").result;
  const request = model.requests("MAIN")[before] ?? [];
  expect(request.map(({ content }) => textOf(content).split("\n").at(-1))).toEqual([
    expect.stringContaining("MAIN: one"),
    "One.",
    "another two",
  ]);
  await session.close();

  // Everything is still in the transcript, and a resumed session has the same conversation.
  const texts = mainLines({ home, cwd }, session.id).flatMap((line) => (line.type === "run.ended" ? [line.text] : []));
  expect(texts).toEqual(["One.", "Two.", "Three.", "Another two."]);
  const again = await open({ MAIN: [{ text: "Four." }] }, { at: { home, cwd }, resume: session.id });
  await again.session.prompt("four").result;
  await again.session.close();
  const [resumed = []] = again.model.requests("MAIN");
  expect(JSON.stringify(resumed.slice(0, 4))).toBe(
    JSON.stringify([...request, { role: "assistant", content: [{ type: "text", text: "Another two." }] }]),
  );
});

it("goes back to the first prompt, even after a checkpoint, and keeps files if it is told to", async () => {
  const { session, home, cwd } = await open(
    { MAIN: [{ calls: [write("made.txt")] }, { text: "One." }] },
    { permissionMode: "acceptEdits" },
  );
  await session.prompt("MAIN: one").result;
  await session.close();
  const again = await open({ MAIN: [{ text: "Again." }] }, { at: { home, cwd }, resume: session.id });
  const [first] = await again.session.prompts();
  const report = await again.session.rewind(first?.id ?? "", { files: false });
  expect(report).toMatchObject({ restored: [], kept: [{ path: "made.txt" }] });
  await again.session.prompt("MAIN: again").result;
  await again.session.close();
  expect(again.model.requests("MAIN")[0]).toHaveLength(1);
});

it("goes back many times as quickly as once, also in a resumed session", async () => {
  const times = 24;
  const steps = Array.from({ length: times }, (_, index) => ({ text: `Try ${index}.` }));
  const { session, home, cwd } = await open({ MAIN: [{ text: "One." }, ...steps] });
  await session.prompt("MAIN: one").result;
  for (let index = 0; index < times; index += 1) {
    await session.prompt(`try ${index}`).result;
    const [, second] = await session.prompts();
    await session.rewind(second?.id ?? "");
  }
  expect((await session.prompts()).map(({ text }) => text)).toEqual(["MAIN: one"]);
  expect(await session.context()).toMatchObject({ agentId: "main" });
  await session.close();
  const again = await open({ MAIN: [{ text: "Two." }] }, { at: { home, cwd }, resume: session.id });
  await again.session.prompt("two").result;
  await again.session.close();
  const [resumed = []] = again.model.requests("MAIN");
  expect(resumed.map(({ content }) => textOf(content).split("\n").at(-1))).toEqual([
    expect.stringContaining("MAIN: one"),
    "One.",
    "two",
  ]);
});

it("is refused while agents work, and for an unknown prompt", async () => {
  const { session } = await open({ MAIN: [{ text: "So far.", hangs: true }] });
  void session.prompt("MAIN: one");
  await expect(session.rewind("1")).rejects.toThrow("Agents are working");
  await session.interrupt();
  await expect(session.rewind("no")).rejects.toThrow("There is no prompt no to go back to");
  expect(await session.send({ id: "c1", type: "rewind", to: "no", files: true })).toMatchObject({
    status: "refused",
    message: "There is no prompt no to go back to. session.prompts() lists those that there are.",
  });
  await session.close();
});
