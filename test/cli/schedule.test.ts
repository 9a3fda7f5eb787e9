import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, retinue } from "./command-line.ts";

describe("retinue schedule", () => {
  it("adds, lists, pauses, resumes, starts and removes schedules", async () => {
    const place = createPlace();
    const schedule = (...words: string[]) => retinue(["schedule", ...words], place);
    expect((await schedule()).stdout).toMatch(/^There are no schedules\. Add one: /);
    const added = await schedule("add", "every day 7:00", "-p", "Check it", "--max-cost", "1", "--time-zone", "UTC");
    expect(added).toMatchObject({ code: 0, stderr: "" });
    expect(added.stdout).toMatch(
      /^Added schedule (s\w+) \(every day 7:00\) for .*\/work\. It is next due on \d{4}-\d\d-\d\d 07:00 UTC\.\n/,
    );
    const file = join(place.home, "schedules.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [stored] = JSON.parse(readFileSync(file, "utf8")).schedules;
    expect(stored).toMatchObject({
      cwd: place.cwd,
      session: { prompt: "Check it", maxCost: 1 },
      when: { cron: "0 7 * * *" },
    });

    expect((await schedule("list")).stdout).toMatch(/every day 7:00 .* 07:00 UTC .*never .*Check it/);
    expect((await schedule("pause", stored.id)).stdout).toMatch(/^Paused schedule/);
    expect((await schedule()).stdout).toMatch(/paused/);
    expect((await schedule("resume", stored.id)).stdout).toMatch(/^Resumed schedule .* next due on/s);
    const started = await schedule("run", stored.id, "--json");
    expect(JSON.parse(started.stdout)).toMatchObject({ id: stored.id, requestedAt: expect.any(Number) });
    expect(JSON.parse((await schedule("list", "--json")).stdout)).toMatchObject([
      { id: stored.id, next: expect.any(String) },
    ]);
    expect((await schedule("remove", stored.id)).stdout).toBe(`Removed schedule ${stored.id} (every day 7:00).\n`);
    expect((await schedule("list", "--json")).stdout).toBe("[]\n");
  });

  it("gives every schedule a unique id", async () => {
    const place = createPlace();
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1)
      ids.push(JSON.parse((await retinue(["schedule", "add", "hourly", "-p", "x", "--json"], place)).stdout).id);
    expect(new Set(ids).size).toBe(4);
    await retinue(["schedule", "remove", ids[1] ?? ""], place);
    const left = JSON.parse((await retinue(["schedule", "list", "--json"], place)).stdout) as { id: string }[];
    expect(left.map(({ id }) => id)).toEqual([ids[0], ids[2], ids[3]]);
  });

  it("warns about a schedule without a spending limit", async () => {
    const { stdout } = await retinue(["schedule", "add", "hourly", "-p", "Check it"], createPlace());
    expect(stdout).toContain("It has no spending limit; --max-cost sets one.");
  });

  it("refuses a limit in dollars for a model whose price is unknown", async () => {
    const words = ["schedule", "add", "hourly", "-p", "x", "--max-cost", "1", "--model", "nobody-knows-1"];
    const place = { ...createPlace(), environment: { ANTHROPIC_API_KEY: "key" } };
    const { code, stderr } = await retinue(words, place);
    expect(stderr).toMatch(/The price of the model nobody-knows-1 is unknown, .*Use --max-tokens instead/);
    expect(code).toBe(2);
    const tokens = words.map((word) => (word === "--max-cost" ? "--max-tokens" : word));
    expect(await retinue(tokens, place)).toMatchObject({ code: 0 });
  });

  it("says how to trust the directory that an agent comes from", async () => {
    const place = createPlace();
    mkdirSync(join(place.cwd, ".agents/agents"), { recursive: true });
    const { code, stderr } = await retinue(["schedule", "add", "hourly", "-p", "x", "--agent", "helper"], place);
    expect(stderr).toContain("this directory is not trusted. To trust it, run `retinue trust add`.");
    expect(stderr).not.toContain("--trust");
    expect(code).toBe(2);
  });

  it.each<[readonly string[], RegExp]>([
    [["add"], /needs the times as one argument/],
    [["add", "every", "day", "7:00", "-p", "x"], /needs the times as one argument/],
    [["add", "every day 7:00"], /There is no prompt.*-p/s],
    [["add", "every day 7:00", "-p", ""], /The value of -p is empty\. Use -p PROMPT\./],
    [
      ["add", "every day 7:00", "-p", "x", "--agent", "explroe"],
      /There is no agent "explroe"\. Did you mean "Explore"\?/,
    ],
    [["add", "every day", "-p", "x"], /no time of day.*every day 7:00/s],
    [["add", "every 45 minutes", "-p", "x"], /evenly spaced/],
    [["add", "every day 7:00", "-p", "x", "--time-zone", "Mars/Olympus"], /Mars\/Olympus/],
    [["add", "every day 7:00", "-p", "x", "--max-cost", "much"], /--max-cost can't be "much"/],
    [
      ["add", "every day 7:00", "-p", "x", "--max-cost", "-1"],
      /--max-cost can't be "-1"\. Use an amount in US dollars/,
    ],
    [["add", "every day 7:00", "-p", "x", "--cwd", "/nowhere/at/all"], /\/nowhere\/at\/all/],
    [["remove"], /needs one id/],
    [["remove", "s0"], /There is no schedule "s0".*schedule list/s],
    [["delete", "s0"], /no command "delete"/],
  ])("refuses %j and says what to do", async (words, message) => {
    const { code, stderr, stdout } = await retinue(["schedule", ...words], createPlace());
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });

  it("does not touch a damaged file", async () => {
    const place = createPlace();
    await retinue(["schedule", "add", "hourly", "-p", "x"], place);
    const file = join(place.home, "schedules.json");
    writeFileSync(file, "{");
    const { code, stderr } = await retinue(["schedule", "add", "hourly", "-p", "x"], place);
    expect(stderr).toMatch(/schedules\.json:1:2 can't be read: .*Restore the file, or delete it/s);
    expect(code).toBe(2);
    expect(readFileSync(file, "utf8")).toBe("{");
  });
});
