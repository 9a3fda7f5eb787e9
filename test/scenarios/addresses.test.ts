import { appendFileSync, copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Message } from "../../src/protocol/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";
import { newPlace, type Options, open, type Place, promised, read, resultsIn, task, walk } from "./delegation-place.ts";

const reads = (...paths: string[]) => ({ calls: paths.map((file_path) => ({ name: "Read", input: { file_path } })) });
const addressIn = (text = ""): string => /retinue:\/\/\w+\/[\w-]+/.exec(text)?.[0] ?? "";
const directoryOf = (transcript = ""): string => transcript.replace(/\.jsonl$/, "");

/** Runs a session with a background agent and a long output. Returns the session's directory and the addresses. */
async function earlier(at: Place) {
  const { session, model } = await open(
    {
      MAIN: [
        { calls: [task("CHILD: look", { run_in_background: true })] },
        { calls: [{ name: "Bash", input: { command: "seq 1 20000" } }] },
        { text: "Meanwhile." },
        { text: "Done." },
      ],
      CHILD: [{ calls: [read] }, { text: "The report." }],
    },
    { at, permissionMode: "bypassPermissions" },
  );
  const run = session.prompt("MAIN: do it.");
  for await (const _ of run);
  await session.close();
  const addresses = [1, 2].map((turn) => addressIn(resultsIn(model.requests("MAIN")[turn])[0]));
  const [output = "", result = ""] = addresses;
  return { id: session.id, files: directoryOf(session.transcriptPath), output, result };
}

/** Resumes a session, or starts a new one, whose model reads the given paths. Returns the results. */
async function readIn(paths: readonly string[], options: Options): Promise<readonly string[]> {
  let told: readonly Message[] = [];
  const step = (messages: readonly Message[]) => {
    told = messages;
    return { text: "Read." };
  };
  await walk({ MAIN: [reads(...paths), step] }, options);
  return resultsIn(told);
}

const idIn = (address: string): string => address.slice(address.lastIndexOf("/") + 1);

describe("a session's texts", () => {
  it("can be read by address after it is resumed, but not in another session", async () => {
    const at = newPlace();
    const { id, output, result } = await earlier(at);
    const [report, numbers] = await readIn([output, result], { at, resume: id });
    expect(report).toContain("The report.");
    expect(numbers).toMatch(/^1\n2\n3\n/);
    const [noReport, noNumbers] = await readIn([output, result], { at });
    expect(noReport).toBe(`There is no subagent ${idIn(output)} in this session, so it has no output. Check the id.`);
    expect(noNumbers).toContain("There is no saved result");
  });

  it("can be read at the paths that earlier versions gave to models, unlike other files in that directory", async () => {
    const at = newPlace();
    const { id, files, output, result } = await earlier(at);
    const saved = join(files, `results/${idIn(result)}.txt`);
    copyFileSync(saved, join(files, "beside.txt"));
    symlinkSync(join(files, "../../../settings.json"), join(files, "results/link.txt"));
    appendFileSync(join(at.home, "settings.json"), "{}");
    mkdirSync(join(files, "scratch"), { recursive: true });
    appendFileSync(join(files, "scratch/kept.txt"), "from a command\n");
    const paths = [
      join(files, `subagents/agent-${idIn(output)}.output`),
      saved,
      join(files, "beside.txt"),
      join(files, "scratch/kept.txt"),
      join(files, `subagents/agent-${idIn(output)}.jsonl`),
      `${files}.jsonl`,
      join(files, "results/link.txt"),
      join(files, `results/../../${id}.jsonl`),
      join(files, "results"),
    ];
    const [report, numbers, beside, scratch, ...others] = await readIn(paths, { at, resume: id });
    expect(report).toContain("The report.");
    expect(numbers).toMatch(/^1\n2\n3\n/);
    expect(beside).toMatch(/^1\n2\n3\n/);
    expect(scratch).toBe("1\tfrom a command\n");
    expect(others).toHaveLength(5);
    for (const other of others) expect(other).toMatch(/was not run|There is no saved result/);
    const foreign = await readIn(paths.slice(0, 4), { at });
    for (const text of foreign) expect(text).toContain("Read was not run.");
  });

  it("can be read by every agent that has the tool", async () => {
    const answers: (readonly Message[])[] = [];
    const end = (messages: readonly Message[]) => {
      answers.push(messages);
      return { text: "Tried." };
    };
    const parts = {
      MAIN: [
        { calls: [{ name: "Bash", input: { command: "seq 1 20000" } }] },
        (messages: readonly Message[]) => {
          const address = addressIn(resultsIn(messages)[0]);
          return {
            calls: [
              task(`READER: ${address}`, { subagent_type: "reader" }),
              task(`WRITER: ${address}`, { subagent_type: "writer" }),
            ],
          };
        },
        { text: "Done." },
      ],
      READER: [(messages: readonly Message[]) => reads(addressIn(JSON.stringify(messages))), end],
      WRITER: [(messages: readonly Message[]) => reads(addressIn(JSON.stringify(messages))), end],
    };
    const about = { description: "Works. Use it.", prompt: "Work." };
    await walk(parts, {
      agents: { reader: { ...about, tools: ["Read"] }, writer: { ...about, tools: ["Write"] } },
      settings: { permissions: { allow: ["Bash(seq:*)"], deny: ["Read(//**)"] } },
    });
    const texts = answers.map((messages) => resultsIn(messages)[0]).sort();
    expect(texts).toEqual([
      expect.stringMatching(/^1\n2\n3\n/),
      expect.stringMatching(/does not have the tool Read|no tool/),
    ]);
  });

  it("can be read in a session that stores no files", async () => {
    let told: readonly string[] = [];
    const { promise: finish, keep: finishChild } = promised();
    await walk(
      {
        MAIN: [
          { calls: [task("CHILD: look", { run_in_background: true })] },
          { calls: [{ name: "Bash", input: { command: "seq 1 20000" } }] },
          () => {
            finishChild();
            return { text: "Meanwhile." };
          },
          (messages) => {
            const addresses = JSON.stringify(messages).matchAll(/retinue:\/\/\w+\/[\w-]+/g);
            return reads(...new Set([...addresses].map(([address]) => address)));
          },
          (messages) => {
            told = resultsIn(messages);
            return { text: "Read." };
          },
        ],
        CHILD: [{ text: "The report.", after: finish }],
      },
      { transcript: createMemoryTranscript(), permissionMode: "bypassPermissions" },
    );
    const [output, numbers] = told;
    expect(output).toMatch(/\nThe report\.\n\n\[succeeded\]\n$/);
    expect(numbers).toMatch(/^1\n2\n3\n/);
  });
});
