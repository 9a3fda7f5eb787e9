import { expect, it, onTestFinished } from "vitest";
import { openSession, systemClock } from "../../app/index.ts";
import { createDeferred } from "../../lib/index.ts";
import { environmentFor, newPlace, startApi, startServer } from "../../server/server.test-support.ts";
import { findServerFor, handOver } from "./hand-over.ts";

it("lets the user's server continue a session, with its model", async () => {
  const place = newPlace();
  const later = createDeferred<void>();
  const input = {
    description: "wait",
    prompt: "CHILD: wait",
    subagent_type: "general-purpose",
    run_in_background: true,
  };
  const api = await startApi(async ({ rawBody }) => {
    const text = rawBody.toString();
    if (text.includes("MAIN: go"))
      return { content: text.includes('"tool_result"') ? "Started." : [{ tool: "Task", input }] };
    await later.promise;
    return { content: "Found." };
  });
  const { home, cwd } = place;
  expect(await findServerFor({ cwd }, home)).toMatchObject({
    isRunning: false,
    advice: expect.stringContaining("serve"),
  });
  const session = await openSession({
    cwd,
    home,
    environment: environmentFor(place, api),
    clock: systemClock,
    interactive: true,
    model: "claude-haiku-4-5",
  });
  onTestFinished(() => session.close());
  await session.prompt("MAIN: go").result;
  await expect.poll(() => api.requests.length).toBe(3);

  const server = await startServer({ place, api });
  expect(await findServerFor(session, home)).toEqual({ url: server.url, isRunning: true, advice: "" });
  await session.park();
  expect(await handOver(session, { home, choices: {} })).toBeUndefined();
  await expect.poll(() => api.requests.length).toBe(4);
  expect(api.requests.at(-1)?.body).toMatchObject({ model: "claude-haiku-4-5" });
  later.resolve();
  const path = `/session/${session.id}/agent`;
  const [, child] = (await server.send("GET", path)).json as { agentId: string }[];
  await expect.poll(async () => (await server.send("GET", `${path}/${child?.agentId}/line`)).text).toContain("Found.");
  await server.close();
  expect(await handOver(session, { home, choices: {} })).toContain("The agents continue when you resume the session.");
}, 60_000);
