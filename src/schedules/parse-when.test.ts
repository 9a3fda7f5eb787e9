import { describe, expect, it } from "vitest";
import { nextTimes, parseWhen } from "./parse-when.ts";

const cronOf = (text: string) => parseWhen(text, "UTC").cron;

describe("a schedule's times", () => {
  it.each([
    ["every day 7:00", "0 7 * * *"],
    ["Every Day at 07:05", "5 7 * * *"],
    ["daily 23:59", "59 23 * * *"],
    ["every weekday 9am", "0 9 * * 1-5"],
    ["weekdays at noon", "0 12 * * 1-5"],
    ["every weekend midnight", "0 0 * * 0,6"],
    ["every monday 6:30 pm", "30 18 * * 1"],
    ["mondays at 12am", "0 0 * * 1"],
    ["every mon, wed and fri 12pm", "0 12 * * 1,3,5"],
    ["every tuesday and thursday 18:30", "30 18 * * 2,4"],
    ["every hour", "0 */1 * * *"],
    ["hourly", "0 * * * *"],
    ["every 2 hours", "0 */2 * * *"],
    ["every 24 hours", "0 0 * * *"],
    ["every minute", "*/1 * * * *"],
    ["every 15 minutes", "*/15 * * * *"],
    ["every 60 minutes", "0 * * * *"],
    ["0 7 * * 1-5", "0 7 * * 1-5"],
    ["*/5 * * * *", "*/5 * * * *"],
  ])("can be written as %j", (text, cron) => expect(cronOf(text)).toBe(cron));

  it.each([
    ["every day", /no time of day.*every day 7:00/s],
    ["every 45 minutes", /evenly spaced.*12, 15, 20, 30/s],
    ["every 0 hours", /evenly spaced/],
    ["every 7 hours", /evenly spaced.*6, 8, 12/s],
    ["every day 25:00", /"25:00".*not a time of day/],
    ["every day 7:60", /"7:60"/],
    ["every day 13pm", /"13pm"/],
    ["every blursday 7:00", /not a time.*every day 7:00/s],
    ["tomorrow 7:00", /not a time/],
    ["every s 7:00", /not a time/],
    ["", /not a time/],
    ["61 7 * * *", /"61 7 \* \* \*" is not a cron expression\. A cron expression has five fields: minute \(0-59\)/],
    ["* * * * * *", /five fields/],
    ["0 7 30 2 *", /never happens/],
  ])("are refused with advice if written as %j", (text, message) => {
    expect(() => cronOf(text)).toThrow(expect.objectContaining({ exitCode: 2 }));
    try {
      cronOf(text);
    } catch (error) {
      const { message: said, fix } = error as { message: string; fix: string };
      expect(`${said}. ${fix}`).toMatch(message);
    }
  });

  it("stay at the same local time when clocks change", () => {
    const when = parseWhen("every day 7:00", "Europe/Berlin");
    const [first, second] = nextTimes(when, Date.parse("2026-03-28T00:00:00Z"), 2).map((time) =>
      new Date(time).toISOString(),
    );
    expect([first, second]).toEqual(["2026-03-28T06:00:00.000Z", "2026-03-29T05:00:00.000Z"]);
  });

  it("need a time zone that exists", () => {
    expect(() => parseWhen("every day 7:00", "Mars/Olympus")).toThrow(/Mars\/Olympus/);
  });
});
