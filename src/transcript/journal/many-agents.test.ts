import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectName, sessionPaths } from "../session-paths.ts";
import { messagesOf, notice, testPlace } from "./session.test-support.ts";
import { createTranscript, openTranscript } from "./transcript.ts";

const many = Array.from({ length: 40 }, (_, index) => `a${index}`);

it("closing a session with many agents syncs one file, and a power cut afterwards loses nothing", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  for (const agent of ["main", ...many]) await session.append(agent, [notice(`of ${agent}`)]);
  await session.close();
  const paths = sessionPaths({ home: place.home, project: projectName(place.cwd), sessionId: session.sessionId });
  expect(statSync(paths.wal).size).toBeGreaterThan(0);
  for (const name of readdirSync(paths.subagents)) rmSync(join(paths.subagents, name));

  const again = await openTranscript(place.options());
  expect(await again.agents()).toHaveLength(many.length);
  for (const agent of many) expect(messagesOf(await again.read(agent))).toEqual([`of ${agent}`]);
  await again.close();
});

it("many agents write with few open files", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  for (let round = 0; round < 3; round++) {
    for (const agent of many) await session.append(agent, [notice(`${round} of ${agent}`)]);
  }
  for (const agent of many) expect(messagesOf(await session.read(agent))).toHaveLength(3);
  await session.close();
});

it("each agent's lines stay in order when many new agents append at the same moment", async () => {
  const place = testPlace();
  const session = await createTranscript(place.options());
  const said = many.flatMap((agent) => ["one", "two"].map((word) => session.append(agent, [notice(word)])));
  const given = await Promise.all(said);
  expect(given.map(([line]) => line?.id)).toEqual(many.flatMap(() => ["1", "2"]));
  for (const agent of many) expect(messagesOf(await session.read(agent))).toEqual(["one", "two"]);
  await session.close();
});
