import { spawnSync } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Reply } from "../../src/testing/index.ts";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, serve } from "../cli/command-line.ts";
import { serveProcess } from "./serve-process.ts";

/** Command that starts a program and makes the directory a small, separate disk, which only that program sees. */
const withSmallDisk = (directory: string) => [
  ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
  `mkdir -p ${directory} && mount -t tmpfs -o size=2m tmpfs ${directory} && exec "$@"`,
  "sh",
];
const [file = "", ...words] = withSmallDisk("/mnt");
const canMount = spawnSync(file, [...words, "true"]).status === 0;

it(
  "a server whose disk is full tells its clients, continues when there is space, and can be stopped",
  needs("the right to mount file systems", canMount),
  async () => {
    const place = createPlace();
    const server = await serve(
      ({ rawBody }): Reply =>
        rawBody.toString().includes("Second") ? { content: "Two." } : { content: "x".repeat(10_000) },
    );
    const serving = await serveProcess({ ...place, server, through: withSmallDisk(place.home) });
    const { id } = (await serving.send("POST", "/session", { prompt: "First" })).json as { id: string };
    const stream = serving.stream(`/session/${id}/event`);
    await stream.until((event) => event.data.type === "turn_complete");
    // The disk exists only for the server's process.
    const filler = join(`/proc/${serving.child.pid}/root`, place.home, "filler");
    fill(filler);
    // Short messages still fit into the last page of the transcript.
    const long = "word ".repeat(5_000);
    const message = { prompt: `Second: ${long}`, id: "second" };
    const refused = await serving.send("POST", `/session/${id}/message`, message);
    expect(refused).toMatchObject({ status: 507, json: { code: "disk_full" } });
    expect(refused.json).toMatchObject({ detail: expect.stringMatching(/disk .* is full.* Free some space/) });
    rmSync(filler);
    const repeated = await serving.send("POST", `/session/${id}/message`, message);
    expect(repeated).toMatchObject({ status: 200, json: { commandId: "second", status: "done" } });
    await stream.until((event) => event.data.type === "turn_complete" && event.data["text"] === "Two.");
    fill(filler);
    expect((await serving.send("POST", `/session/${id}/message`, { prompt: long })).status).toBe(507);
    expect(await serving.end("SIGTERM")).toBe(0);
  },
);

function fill(path: string): void {
  for (const size of [65_536, 4_096, 512, 1])
    try {
      for (;;) appendFileSync(path, Buffer.alloc(size));
    } catch {
      // There is no more space for pieces of this size.
    }
}
