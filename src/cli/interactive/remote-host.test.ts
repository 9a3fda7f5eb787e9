import { expect, it, onTestFinished, vi } from "vitest";
import { createDeferred } from "../../lib/index.ts";
import { newPlace, startApi, startServer } from "../../server/server.test-support.ts";
import type { TerminalHost } from "../../terminal/index.ts";
import { parsePrintOptions, printOptionKinds } from "../print/print-options.ts";
import { readOptions } from "../read-options.ts";
import { createRemoteProgram } from "./remote-host.ts";

const options = parsePrintOptions(readOptions([], { kinds: printOptionKinds, help: "" }));
const prompt = (text: string) =>
  ({ type: "prompt", to: "main", content: [{ type: "text", text }], when: "now" }) as const;

/** Collects the text of a session's durable updates until the test ends. */
function follow(host: TerminalHost): { readonly text: string } {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const seen: string[] = [];
  void (async () => {
    for await (const { seq, event } of host.updates(leaving.signal))
      if (seq !== undefined) seen.push(JSON.stringify(event));
  })();
  return {
    get text() {
      return seen.join("\n");
    },
  };
}

it("knows a new session's permission mode, until the conversation shows it", async () => {
  const place = newPlace();
  vi.stubEnv("RETINUE_HOME", place.home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = await startServer({ place, api: await startApi([{ content: "One." }]) });
  const argv = ["--permission-mode", "plan"];
  const planning = parsePrintOptions(readOptions(argv, { kinds: printOptionKinds, help: "" }));
  vi.stubEnv("RETINUE_TOKEN", server.token);
  const { signal } = new AbortController();
  const host = await createRemoteProgram(server.url, planning).open({ report: () => {}, signal });
  expect(host.facts.permissionMode).toBe("plan");
  expect(await host.send({ type: "configure", permissionMode: "acceptEdits" })).toMatchObject({ status: "done" });
  expect(host.facts.permissionMode).toBe("acceptEdits");
  const seen = follow(host);
  await host.send(prompt("First"));
  await expect.poll(() => seen.text, { timeout: 10_000 }).toContain('"permissionMode":"acceptEdits"');
  expect(host.facts.permissionMode).toBeUndefined();
});

it("follows a session when its server stops and restarts, even if the session was idle", async () => {
  const place = newPlace();
  vi.stubEnv("RETINUE_HOME", place.home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const later = createDeferred<void>();
  const api = await startApi(async ({ rawBody }) => {
    const text = rawBody.toString();
    if (text.includes("Third")) return { content: "Three." };
    if (!text.includes("Second")) return { content: "One." };
    await later.promise;
    return { content: "Two." };
  });
  const first = await startServer({ place, api });
  const port = Number(new URL(first.url).port);
  const reports: string[] = [];
  const host = await createRemoteProgram(first.url, options).open({
    report: (message) => reports.push(message),
    signal: new AbortController().signal,
  });
  const seen = follow(host);
  await host.send(prompt("First"));
  await expect.poll(() => seen.text).toContain("One.");

  await first.close();
  expect(await host.send(prompt("Away"))).toMatchObject({
    status: "refused",
    message: "The server can't be reached.",
  });
  expect(reports).toEqual(["The connection to the server was lost. Trying to connect again."]);
  const second = await startServer({ place, api, port });
  await expect.poll(() => reports.at(-1)).toBe("The connection is back.");
  await host.send(prompt("Second"));
  await expect.poll(() => seen.text).toContain("Second");

  await expect.poll(() => api.requests.length).toBe(2);
  await second.close();
  later.resolve();
  await startServer({ place, api, port });
  await expect.poll(() => seen.text).toContain("Two.");
  await host.send(prompt("Third"));
  await expect.poll(() => seen.text).toContain("Three.");
}, 60_000);
