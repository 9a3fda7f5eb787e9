import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createPlace, type Place, retinue } from "./command-line.ts";

const words = ["-p", "List files here"];

/** Creates a session that is this many days old. */
async function oldSession(place: Place, days: number): Promise<string> {
  const before = sessionsOf(place);
  expect((await retinue(words, place)).code).toBe(0);
  const id = sessionsOf(place).find((each) => !before.includes(each)) ?? "";
  const time = Date.now() / 1000 - days * 24 * 60 * 60;
  const directory = projectOf(place);
  for (const path of [join(directory, `${id}.jsonl`), join(directory, id, "wal.jsonl")]) {
    if (existsSync(path)) utimesSync(path, time, time);
  }
  return id;
}

function sessionsOf(place: Place): readonly string[] {
  const names = existsSync(join(place.home, "projects")) ? readdirSync(projectOf(place)) : [];
  return names.filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -6));
}

function projectOf({ home }: Place): string {
  const [project = ""] = readdirSync(join(home, "projects"));
  return join(home, "projects", project);
}

const stampOf = ({ home }: Place): string => join(home, "cleaned-up");

it("a run deletes sessions that were not used for 30 days, once a day, and silently without --verbose", async () => {
  const place = createPlace();
  const young = await oldSession(place, 29);
  const old = await oldSession(place, 31);
  await retinue(words, place);
  expect(sessionsOf(place)).toContain(old);
  writeFileSync(stampOf(place), "0\n");
  const quiet = await retinue(words, place);
  expect(quiet.stderr).not.toContain("deleted");
  expect(sessionsOf(place)).not.toContain(old);
  expect(sessionsOf(place)).toContain(young);

  await oldSession(place, 31);
  writeFileSync(stampOf(place), "0\n");
  const verbose = await retinue([...words, "--verbose"], place);
  expect(verbose.stderr).toContain(
    "retinue: 1 session not used for 30 days was deleted (cleanupPeriodDays in settings).\n",
  );
});

it("a run deletes no sessions if the setting is 0", async () => {
  const place = createPlace();
  mkdirSync(place.home);
  writeFileSync(join(place.home, "settings.json"), JSON.stringify({ cleanupPeriodDays: 0 }));
  const old = await oldSession(place, 4_000);
  await retinue(words, place);
  expect(sessionsOf(place)).toContain(old);
});
