import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Transcript } from "../../src/ports/index.ts";
import { textOf } from "../../src/protocol/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import { mainLines, newPlace, open, promised, read, task } from "./delegation-place.ts";

const edit = (from: string, to: string) => ({
  name: "Edit",
  input: { file_path: "notes.txt", old_string: from, new_string: to },
});
const write = (path: string) => ({ name: "Write", input: { file_path: path, content: "made" } });
const bash = (command: string) => ({ name: "Bash", input: { command } });

it("rewinding goes back to an earlier prompt, and restores files that any agent's tools have changed", async () => {
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
  expect(prompts.map(({ text, files, commands }) => ({ text, files, commands }))).toEqual([
    { text: "MAIN: one", files: [], commands: [] },
    { text: "two", files: ["notes.txt", "made.txt", "touched.txt"], commands: ["touch made-by-command"] },
    { text: "three", files: [], commands: [] },
  ]);
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

it("rewinding to the first prompt works even after a checkpoint, and keeps files if requested", async () => {
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

it("rewinding repeatedly does not get slower, even in a resumed session", async () => {
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

it("rewinding twice restores files, including those that were kept the first time", async () => {
  for (const files of [true, false]) {
    const { session, cwd } = await open(
      {
        MAIN: [
          { calls: [read] },
          { calls: [edit("alpha", "one")] },
          { text: "One." },
          { calls: [edit("one", "two"), write("made.txt")] },
          { text: "Two." },
        ],
      },
      { permissionMode: "acceptEdits" },
    );
    const notes = () => readFileSync(join(cwd, "notes.txt"), "utf8");
    for (const words of ["MAIN: one", "two"]) await session.prompt(words).result;
    const [first, second] = await session.prompts();
    const report = await session.rewind(second?.id ?? "", { files });
    expect(report.restored).toEqual(files ? ["notes.txt", "made.txt"] : []);
    expect(report.kept.map(({ reason }) => reason)).toEqual(
      files ? [] : ["the `files` option is false", "the `files` option is false"],
    );
    expect(notes()).toBe(files ? "one\nbeta\n" : "two\nbeta\n");
    expect(await session.rewind(first?.id ?? "")).toMatchObject({
      restored: files ? ["notes.txt"] : ["notes.txt", "made.txt"],
      kept: [],
    });
    expect(notes()).toBe("alpha\nbeta\n");
    await session.close();
  }
});

/** Opens a session with a conversation of one prompt that changed two files. */
async function openChanged(transcript: Transcript) {
  const place = newPlace();
  const { session, model } = await open(
    {
      MAIN: [{ calls: [write("a.txt"), read] }, { calls: [edit("alpha", "one")] }, { text: "One." }, { text: "Two." }],
    },
    { at: place, permissionMode: "acceptEdits", transcript },
  );
  await session.prompt("MAIN: one").result;
  const [first] = await session.prompts();
  return { session, model, id: first?.id ?? "", notes: () => readFileSync(join(place.cwd, "notes.txt"), "utf8") };
}

it("rewinding restores files before it records the change to the conversation, so that a crash loses nothing", async () => {
  const memory = createMemoryTranscript();
  const found: string[] = [];
  let notes = (): string => "";
  const append: Transcript["append"] = async (agentId, events) => {
    if (events.some(({ type }) => type === "conversation.rewound")) {
      found.push(notes());
      if (found.length === 1) throw new Error("The process is killed here.");
    }
    return memory.append(agentId, events);
  };
  const changed = await openChanged({ ...memory, append });
  notes = changed.notes;
  await expect(changed.session.rewind(changed.id)).rejects.toThrow("killed here");
  expect(await changed.session.rewind(changed.id)).toMatchObject({ restored: ["a.txt", "notes.txt"], kept: [] });
  expect(found).toEqual(["alpha\nbeta\n", "alpha\nbeta\n"]);
  await changed.session.close();
});

it("rewinding reports a file whose earlier content can't be read, and restores the others", async () => {
  const memory = createMemoryTranscript();
  const read = () => Promise.reject(new Error("The disk is broken."));
  const { session, id } = await openChanged({ ...memory, results: { ...memory.results, read } });
  expect(await session.rewind(id)).toMatchObject({
    restored: ["a.txt"],
    kept: [{ path: "notes.txt", reason: expect.stringContaining("The disk is broken.") }],
  });
  await session.close();
});

it("rewinding makes prompts wait, and is refused while another rewind is in progress", async () => {
  const memory = createMemoryTranscript();
  const { promise: written, keep: write } = promised();
  const append: Transcript["append"] = async (agentId, events) => {
    if (events.some(({ type }) => type === "conversation.rewound")) await written;
    return memory.append(agentId, events);
  };
  const { session, model, id } = await openChanged({ ...memory, append });
  const report = session.rewind(id);
  const next = session.prompt("MAIN: next");
  await expect(session.rewind(id)).rejects.toThrow("already going back");
  write();
  expect(await report).toMatchObject({ prompt: "MAIN: one" });
  expect(await next.result).toMatchObject({ outcome: "succeeded", text: "Two." });
  expect(model.requests("MAIN").at(-1)).toHaveLength(1);
  const types = (await memory.read("main")).map(({ type }) => type);
  expect(types.lastIndexOf("run.started")).toBeGreaterThan(types.indexOf("conversation.rewound"));
  const last = session.rewind((await session.prompts())[0]?.id ?? "");
  await session.close();
  expect(await last).toMatchObject({ prompt: "MAIN: next" });
});

it("rewinding is refused while agents are working, and for an unknown prompt", async () => {
  const { session } = await open({ MAIN: [{ text: "So far.", hangs: true }] });
  void session.prompt("MAIN: one");
  await expect(session.rewind("1")).rejects.toThrow("Agents are working");
  await session.interrupt();
  await expect(session.rewind("no")).rejects.toThrow("There is no prompt no to go back to");
  expect(await session.send({ id: "c1", type: "rewind", to: "no", files: true })).toMatchObject({
    status: "refused",
    message: "There is no prompt no to go back to. Use an id from session.prompts().",
  });
  await session.close();
});
