import { expect, it } from "vitest";
import { open, promised, task, watch } from "./delegation-place.ts";

it("a session's events include all agents, even between runs, and can be continued from a position in another process", async () => {
  const release = promised();
  const parts = {
    MAIN: [{ calls: [task("PART: work.", { run_in_background: true })] }, { text: "Started." }],
    PART: [{ text: "Part done.", after: release.promise }],
  };
  const { session, home, cwd } = await open(parts, { interactive: true });
  const watched = watch(session);
  await session.prompt("MAIN: begin.").result;
  // No run is in progress while the background agent ends.
  release.keep();
  await watched.until(({ agentId, event }) => agentId !== "main" && event.type === "run.cleaned");
  await session.close();
  const updates = await watched.all;

  const numbers = updates.flatMap(({ seq }) => seq ?? []);
  expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(new Set(updates.map(({ agentId }) => agentId)).size).toBe(2);
  const mainEnd = updates.findIndex(({ agentId, event }) => agentId === "main" && event.type === "run.ended");
  const partEnd = updates.findIndex(({ agentId, event }) => agentId !== "main" && event.type === "run.ended");
  expect(partEnd).toBeGreaterThan(mainEnd);
  expect(updates.some(({ seq, event }) => seq === undefined && event.type === "text.delta")).toBe(true);

  const again = { at: { home, cwd }, resume: session.id, interactive: true };
  const later = await open({ MAIN: [{ text: "Again." }] }, again);
  const position = numbers.at(-1) ?? 0;
  const continued = watch(later.session, position);
  await later.session.prompt("MAIN: go on.").result;
  await later.session.close();
  const more = await continued.all;
  expect(more.flatMap(({ seq }) => seq ?? []).every((seq) => seq > position)).toBe(true);
  expect(more.some(({ event }) => event.type === "prompt.received")).toBe(true);
});

it("a session's events can't be read from an invalid position", async () => {
  const { session } = await open({ MAIN: [] });
  expect(() => session.events({ afetr: 3 } as object)).toThrow(
    expect.objectContaining({ message: 'session.events has no option "afetr"', fix: "Did you mean after?" }),
  );
  expect(() => session.events({ after: Number.NaN })).toThrow("must be a whole number");
  await session.close();
});

it("a closed session rejects prompts, and says how to open it again", async () => {
  const { session } = await open({ MAIN: [{ text: "Done." }] });
  await session.prompt("MAIN: begin.").result;
  await session.close();
  expect(() => session.prompt("MAIN: again.")).toThrowError(
    expect.objectContaining({
      name: "UserError",
      message: "The session is closed",
      fix: expect.stringContaining(session.id),
    }),
  );
});
