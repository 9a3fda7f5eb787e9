import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { UserError } from "../../lib/index.ts";
import { messagesOf, notice, notices, someHead, testPlace } from "./session.test-support.ts";
import { createTranscript, openTranscript } from "./transcript.ts";

describe("a session in files", () => {
  it("numbers lines and links each to the previous one", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    const first = await session.append("main", [notice("one"), notice("two")]);
    const second = await session.append("main", [notice("three")]);
    expect(first.map(({ id, parentId }) => [id, parentId])).toEqual([
      ["1", null],
      ["2", "1"],
    ]);
    expect(second[0]).toEqual({
      v: 1,
      id: "3",
      parentId: "2",
      seq: 3,
      at: 1_700_000_000_000,
      type: "notice.raised",
      code: "test",
      message: "three",
    });
    expect(await session.read("main")).toEqual([...first, ...second]);
    const onDisk = readFileSync(session.path ?? "", "utf8")
      .trimEnd()
      .split("\n");
    expect(onDisk.map((text) => JSON.parse(text))).toEqual([...first, ...second]);
    await session.close();
  });

  it("keeps each agent's transcript in its own file, and reads nothing for an unknown agent", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", [notice("parent")]);
    await session.append("a1", [notice("child")]);
    expect(messagesOf(await session.read("a1"))).toEqual(["child"]);
    expect(await session.read("a2")).toEqual([]);
    const directory = (session.path ?? "").replace(/\.jsonl$/, "");
    expect(readdirSync(join(directory, "subagents"))).toEqual(["agent-a1.jsonl"]);
    await session.close();
  });

  it("continues where it stopped when it is opened again", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(3));
    await session.append("a1", notices(2));
    await session.close();
    const again = await openTranscript(place.options());
    expect(again.problems).toEqual([]);
    expect(messagesOf(await again.read("main"))).toEqual(["message 1", "message 2", "message 3"]);
    const [line] = await again.append("main", [notice("later")]);
    expect(line).toMatchObject({ id: "4", parentId: "3" });
    const [childLine] = await again.append("a1", [notice("later")]);
    expect(childLine).toMatchObject({ id: "3", parentId: "2" });
    expect(await again.read("main")).toHaveLength(4);
    await again.close();
  });

  it("keeps text unchanged: emoji, lone surrogates, line separators, quotes", async () => {
    const place = testPlace();
    const odd = '🙂 \ud800 \u2028 \u0000 " \\ \n\r\n 漢字';
    const session = await createTranscript(place.options());
    await session.append("main", [notice(odd)]);
    await session.sync("main");
    await session.close();
    const again = await openTranscript(place.options());
    expect(messagesOf(await again.read("main"))).toEqual([odd]);
    await again.close();
  });

  it("writes no log before the first sync, and leaves an empty log and no lock when closed", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    const directory = (session.path ?? "").replace(/\.jsonl$/, "");
    await session.append("main", notices(2));
    expect(existsSync(join(directory, "wal.jsonl"))).toBe(false);
    await session.sync("main");
    expect(statSync(join(directory, "wal.jsonl")).size).toBeGreaterThan(0);
    await session.close();
    expect(statSync(join(directory, "wal.jsonl")).size).toBe(0);
    expect(existsSync(join(directory, "lock"))).toBe(false);
  });

  it("has files that no other user can read", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(1));
    await session.append("a1", notices(1));
    await session.sync("main");
    await session.saveHead(someHead);
    await session.results.save("r1", "text");
    const project = dirname(session.path ?? "");
    for (const entry of readdirSync(project, { recursive: true, withFileTypes: true })) {
      const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
      expect([entry.name, mode.toString(8)]).toEqual([entry.name, entry.isDirectory() ? "700" : "600"]);
    }
    await session.close();
  });

  it("leaves nothing behind if no prompt was sent", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    const project = dirname(session.path ?? "");
    await session.close();
    expect(readdirSync(project)).toEqual([]);
  });

  it("can't be created if it exists, or opened if it does not", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(1));
    await session.close();
    await expect(createTranscript(place.options())).rejects.toMatchObject({ code: "session_exists" });
    await expect(openTranscript(place.options("s2"))).rejects.toMatchObject({ code: "no_session" });
    await expect(openTranscript(place.options("../s1"))).rejects.toThrow("not a valid session id");
  });

  it("rejects a second owner until the first one has closed it", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(1));
    const refusal = await openTranscript(place.options()).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(UserError);
    expect(refusal).toMatchObject({
      code: "session_in_use",
      message: expect.stringContaining("already open in this process"),
    });
    await session.close();
    await (await openTranscript(place.options())).close();
  });

  it("rejects appends after it has been closed, and can be closed twice", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await session.append("main", notices(1));
    await Promise.all([session.close(), session.close()]);
    await session.sync("main");
    await expect(session.append("main", notices(1))).rejects.toThrow("closed");
  });

  it("does not let an agent id lead out of its directory", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    await expect(session.append("../../x", notices(1))).rejects.toThrow("not a valid agent id");
    await session.close();
  });

  it("supports many more agents than open files", async () => {
    const place = testPlace();
    const session = await createTranscript(place.options());
    const agents = Array.from({ length: 100 }, (_, index) => `a${index}`);
    for (let round = 0; round < 3; round++) {
      await Promise.all(agents.map((agent) => session.append(agent, [notice(`${agent} ${round}`)])));
    }
    await Promise.all(agents.map((agent) => session.sync(agent)));
    for (const agent of agents) {
      expect(messagesOf(await session.read(agent))).toEqual([`${agent} 0`, `${agent} 1`, `${agent} 2`]);
    }
    await session.close();
    const again = await openTranscript(place.options());
    expect(messagesOf(await again.read("a99"))).toEqual(["a99 0", "a99 1", "a99 2"]);
    await again.close();
  });
});
