import { pathToFileURL } from "node:url";
import { systemClock } from "../app/index.ts";
import { createLocalWorker } from "../worker/index.ts";
import { connectWorker } from "./index.ts";

// A worker in its own process. Prints the messages for the user.

export interface WorkerProcessOptions {
  readonly url: string;
  readonly root: string;
  readonly home: string;
  /** The user's home directory, if it is not also the state directory. */
  readonly userHome?: string | undefined;
  readonly ledgerDirectory: string;
  readonly name?: string | undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const options = JSON.parse(process.argv[2] ?? "") as WorkerProcessOptions;
  const { root, home, userHome = home, url, ledgerDirectory, name = "box" } = options;
  const controller = new AbortController();
  process.once("SIGTERM", () => controller.abort());
  const report = (message: string): void => void process.stdout.write(`${message}\n`);
  const environment = { PATH: process.env["PATH"], HOME: userHome };
  await connectWorker({
    url,
    token: "secret",
    name,
    worker: createLocalWorker({ root, home, state: home, environment, clock: systemClock, version: "1.0.0", report }),
    ledgerDirectory,
    files: { open: ({ directory }) => directory, unusedSince: () => [], remove: () => {} },
    version: "1.0.0",
    clock: systemClock,
    signal: controller.signal,
    report,
  });
  process.exit(0);
}
