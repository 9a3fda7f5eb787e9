import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod/v4";
import { UserError } from "../../lib/index.ts";
import { sendTo } from "../server.test-support.ts";
import { handleRoutes } from "./handle-routes.ts";
import { type Route, route } from "./route.ts";

async function serve(handle: Route["handle"]) {
  const reports: string[] = [];
  const listener = handleRoutes({
    routes: [
      route({
        method: "GET",
        path: "/x",
        scope: "read",
        summary: "Fails.",
        response: { status: 200, schema: z.object({}) },
        handle: handle as () => object,
      }),
    ],
    accessOf: () => ({ scopes: new Set(["read"]), pages: false }),
    maxBodyBytes: 1_000,
    withoutPaths: (message) => message,
    report: (message) => reports.push(message),
  });
  const http = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { reports, get: () => sendTo(url, { method: "GET", path: "/x" }) };
}

const systemError = (code: string) => Object.assign(new Error(`${code}: open`), { code, syscall: "open" });

it("closes the connection if a handler fails while responding, and reports the cut-off response", async () => {
  const { reports, get } = await serve(({ outgoing }) => {
    outgoing.writeHead(200, { "Content-Type": "application/json" });
    outgoing.flushHeaders();
    throw systemError("EMFILE");
  });
  expect(await get()).toMatchObject({ status: 200, text: "" });
  expect(reports).toEqual([expect.stringMatching(/^A response was cut off: Too many files are open/)]);
});

it.each([
  [systemError("ENOSPC"), 507, "disk_full"],
  [new UserError("Can't write", { code: "journal_failed", cause: systemError("ENOSPC") }), 507, "disk_full"],
  [systemError("EMFILE"), 503, "unavailable"],
  [systemError("EROFS"), 503, "unavailable"],
  [systemError("EFBIG"), 503, "unavailable"],
  [new Error("x is not a function"), 500, "internal_error"],
])("says whether a failed request can be sent again later: %s", async (error, status, code) => {
  const { get } = await serve(() => {
    throw error;
  });
  expect(await get()).toMatchObject({ status, json: { code } });
});
