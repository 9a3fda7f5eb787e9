import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Line } from "../../protocol/index.ts";
import { messagesOf, notice, notices, type TestPlace, testPlace } from "../journal/session.test-support.ts";
import { type FileTranscript, openTranscript } from "../journal/transcript.ts";
import { projectName, sessionPaths } from "../session-paths.ts";
import { parseTranscript } from "./parse-transcript.ts";

function transcriptOf(place: TestPlace, sessionId = "s1"): string {
  return sessionPaths({ home: place.home, project: projectName(place.cwd), sessionId }).transcript;
}

function writeTranscript(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function lineText(id: number, message = `message ${id}`): string {
  const line: Line = {
    v: 1,
    id: String(id),
    parentId: id === 1 ? null : String(id - 1),
    at: 1,
    ...notice(message),
  } as Line;
  return JSON.stringify(line);
}

/** Returns all bytes of the transcript and of the parts that were set aside, in order. */
function allBytes(path: string): Buffer {
  const directory = dirname(path);
  const copies = readdirSync(directory)
    .filter((name) => join(directory, name).startsWith(`${path}.damaged-`))
    .sort()
    .map((name) => readFileSync(join(directory, name)));
  return Buffer.concat([readFileSync(path), ...copies]);
}

async function openedWith(content: string | Uint8Array): Promise<{ session: FileTranscript; lines: readonly Line[] }> {
  const place = testPlace();
  writeTranscript(transcriptOf(place), content);
  const session = await openTranscript(place.options());
  return { session, lines: await session.read("main") };
}

/** Returns whether the content ends after a whole line, with or without its newline. */
function endsWithWholeLine(content: Uint8Array): boolean {
  const last = Buffer.from(content).toString("utf8").split("\n").at(-1) ?? "";
  if (last === "") return true;
  try {
    JSON.parse(last);
    return true;
  } catch {
    return false;
  }
}

describe("a damaged transcript", () => {
  it("loses at most its last line if it is cut anywhere in that line, and keeps all bytes", async () => {
    const whole = `${lineText(1)}\n${lineText(2)}\n`;
    const last = Buffer.from(`${lineText(3, "the läst 🙂")}\n`);
    const place = testPlace();
    for (let length = 0; length <= last.length; length++) {
      const id = `s${length}`;
      const path = transcriptOf(place, id);
      const content = Buffer.concat([Buffer.from(whole), last.subarray(0, length)]);
      writeTranscript(path, content);
      const session = await openTranscript(place.options(id));
      const kept = length >= last.length - 1 ? 3 : 2;
      const torn = length > 0 && kept === 2;
      expect(await session.read("main"), `cut after ${length} bytes`).toHaveLength(kept);
      expect(session.problems.map(({ line }) => line)).toEqual(torn ? [3, 0] : []);
      expect(allBytes(path)).toEqual(content);
      const [added] = await session.append("main", [notice("after")]);
      expect(added?.id).toBe(String(kept + 1));
      expect(messagesOf(await session.read("main")).at(-1)).toBe("after");
      await session.close();
      if (length % 16 !== 0) continue;
      const again = await openTranscript(place.options(id));
      expect(again.problems).toEqual([]);
      expect(await again.read("main")).toHaveLength(kept + 1);
      await again.close();
    }
  });

  it("is reported if it is empty", async () => {
    const { session, lines } = await openedWith("");
    expect(lines).toEqual([]);
    expect(session.problems).toMatchObject([
      { file: session.path, line: 0, message: expect.stringContaining("empty") },
    ]);
    await session.close();
  });

  it("skips invalid lines in the middle and reports their positions", async () => {
    const content = `${lineText(1)}\n{"v":1,"id":"2"\n[]\n\n${lineText(3)}\n`;
    const { session, lines } = await openedWith(content);
    expect(lines.map((line) => line.id)).toEqual(["1", "3"]);
    expect(session.problems.map(({ line, message }) => `${line} ${message}`)).toEqual([
      "2 Line 2 can't be read: the line is not valid JSON. The line is skipped.",
      "3 Line 3 is not a transcript line. It is skipped.",
      "5 Entry 2 is missing before line 5.",
    ]);
    expect(new Set(session.problems.map(({ file }) => file))).toEqual(new Set([session.path]));
    await session.close();
  });

  it("keeps unknown types, fields and versions", async () => {
    const unknown = { v: 1, id: "2", parentId: "1", at: 1, type: "future.happened", extra: { deep: [1] } };
    const newer = { v: 2, id: "3", parentId: "2", at: 1, type: "notice.raised", message: "new" };
    const { session, lines } = await openedWith(
      [lineText(1), JSON.stringify(unknown), JSON.stringify(newer), ""].join("\n"),
    );
    expect(lines.slice(1)).toEqual([unknown, newer]);
    expect(session.problems).toHaveLength(1);
    expect(session.problems[0]?.message).toContain("version 2");
    await session.close();
  });

  it("drops a repeated line, and if two lines share an id, the one that does not follow its parent", async () => {
    const wrong = lineText(2, "wrong").replace('"parentId":"1"', '"parentId":"7"');
    const texts = [lineText(1), wrong, lineText(2), lineText(1), lineText(3), lineText(3, "other"), ""];
    const { session, lines } = await openedWith(texts.join("\n"));
    expect(messagesOf(lines)).toEqual(["message 1", "message 2", "message 3"]);
    expect(session.problems.map(({ line }) => line)).toEqual([2, 6]);
    await session.close();
  });

  it("is read in the order of its line ids", async () => {
    const { session, lines } = await openedWith([1, 2, 5, 3, 4].map((id) => `${lineText(id)}\n`).join(""));
    expect(lines.map((line) => line.id)).toEqual(["1", "2", "3", "4", "5"]);
    expect(session.problems).toEqual([]);
    await session.close();
  });

  it("can be read after any damage, which is reported with file and line (80 transcripts, 20 kinds of damage each)", () => {
    let read = 0;
    let told = 0;
    const property = fc.property(transcript(), damages(), (messages, changes) => {
      for (const change of changes) {
        const content = applyDamage(bytesOf(messages), change);
        const { lines, problems, tornAt } = parseTranscript(content, "file.jsonl");
        const ids = lines.map((line) => Number(line.id));
        expect(ids).toEqual([...new Set(ids)].sort((left, right) => left - right));
        // Damage of up to 40 bytes affects at most two lines; a cut removes all lines after it.
        if (change.kind !== "cut") expect(lines.length).toBeGreaterThanOrEqual(messages.length - 2);
        for (const problem of problems) expect(problem).toMatchObject({ file: "file.jsonl", line: expect.any(Number) });
        if (tornAt !== undefined) expect(content.subarray(tornAt)).not.toContain(10);
        const unharmed = lines.filter(
          (line) => lineText(Number(line.id), messages[Number(line.id) - 1]) === JSON.stringify(line),
        );
        // A change that is not reported can only have affected the text of a message.
        if (unharmed.length < lines.length) expect(["flip", "remove", "repeat", "insert"]).toContain(change.kind);
        if (lines.length < messages.length && !endsWithWholeLine(content)) expect(problems.length).toBeGreaterThan(0);
        read++;
        if (problems.length > 0) told++;
      }
    });
    fc.assert(property, { numRuns: 80 });
    expect(read).toBeGreaterThanOrEqual(1_600);
    expect(told).toBeGreaterThan(400);
  });

  it("can be opened and continued after any damage, and keeps its bytes", async () => {
    const place = testPlace();
    let opened = 0;
    const property = fc.asyncProperty(transcript(), damage(), async (messages, change) => {
      const id = `s${opened++}`;
      const path = transcriptOf(place, id);
      const content = applyDamage(bytesOf(messages), change);
      writeTranscript(path, content);
      const session = await openTranscript(place.options(id));
      const before = await session.read("main");
      expect(allBytes(path).equals(content)).toBe(true);
      const added = await session.append("main", [notice("after")]);
      expect(await session.read("main")).toEqual([...before, ...added]);
      await session.close();
    });
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
    expect(opened).toBe(60);
  });
});

function transcript(): fc.Arbitrary<string[]> {
  return fc.array(fc.string({ unit: "grapheme", maxLength: 30 }), { minLength: 1, maxLength: 8 });
}

function damages(): fc.Arbitrary<Damage[]> {
  return fc.array(damage(), { minLength: 20, maxLength: 20 });
}

function bytesOf(messages: readonly string[]): Buffer {
  return Buffer.from(messages.map((message, index) => `${lineText(index + 1, message)}\n`).join(""));
}

interface Damage {
  readonly kind: "cut" | "flip" | "zero" | "insert" | "remove" | "repeat" | "join";
  readonly at: number;
  readonly length: number;
  readonly byte: number;
}

function damage(): fc.Arbitrary<Damage> {
  return fc.record({
    kind: fc.constantFrom("cut", "flip", "zero", "insert", "remove", "repeat", "join"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 40 }),
    byte: fc.integer({ min: 0, max: 255 }),
  });
}

function applyDamage(whole: Buffer, { kind, at, length, byte }: Damage): Buffer {
  const from = Math.min(Math.floor(at * whole.length), whole.length - 1);
  const before = whole.subarray(0, from);
  const part = whole.subarray(from, from + length);
  const after = whole.subarray(from + length);
  if (kind === "cut") return before;
  if (kind === "flip") return Buffer.concat([before, Buffer.from([byte]), whole.subarray(from + 1)]);
  if (kind === "zero") return Buffer.concat([before, Buffer.alloc(part.length), after]);
  if (kind === "insert") return Buffer.concat([before, Buffer.alloc(length, byte), whole.subarray(from)]);
  if (kind === "remove") return Buffer.concat([before, after]);
  if (kind === "repeat") return Buffer.concat([before, part, part, after]);
  const text = whole.toString("latin1");
  return Buffer.from(text.replace(/\n/, ""), "latin1");
}

it("no line is lost after another writer's torn line", async () => {
  const place = testPlace();
  const path = transcriptOf(place);
  writeTranscript(path, `${lineText(1)}\n`);
  const session = await openTranscript(place.options());
  appendFileSync(path, '{"torn');
  await session.append("main", notices(1));
  expect(messagesOf(await session.read("main"))).toEqual(["message 1", "message 1"]);
  await session.close();
});
