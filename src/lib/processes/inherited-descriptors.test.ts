import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { bundleProgram } from "../../testing/bundle-program.test-support.ts";
import { isLinux, needs } from "../../testing/needs.test-support.ts";

const program = `
  import { startProcess } from ${JSON.stringify(bundleProgram(join(import.meta.dirname, "start-process.ts")))};
  startProcess({ command: "ls", args: ["-l", "/proc/self/fd"], tag: "descriptors-" + process.pid }).stdout.pipe(process.stdout);
`;

it("does not pass inherited descriptors on to children", needs("Linux", isLinux), async () => {
  const directory = openSync("/", "r");
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    // Node itself closes only the lowest descriptors.
    stdio: ["ignore", "pipe", "inherit", ...Array.from({ length: 27 }, () => "ignore" as const), directory],
  });
  const listed = await text(child.stdout as NodeJS.ReadableStream);
  closeSync(directory);
  expect(listed).toContain("/proc/");
  expect(listed).not.toMatch(/-> \/$/m);
  expect(listed).toMatch(/ 30 -> \/dev\/null$/m);
});

it("starts children without a descriptor that is above the limit", needs("Linux", isLinux), async () => {
  const directory = openSync("/", "r");
  const child = spawn("sh", ["-c", 'ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, program], {
    stdio: ["ignore", "pipe", "inherit", ...Array.from({ length: 147 }, () => "ignore" as const), directory],
  });
  const listed = await text(child.stdout as NodeJS.ReadableStream);
  closeSync(directory);
  expect(listed).toContain("/proc/");
  expect(listed).not.toMatch(/-> \/$/m);
});
