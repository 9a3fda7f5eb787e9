import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Workspace } from "../ports/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { restoreFile } from "./restore-file.ts";

function place() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "restore-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [root, outside] = [join(top, "work"), join(top, "outside")];
  for (const directory of [join(root, "d"), outside]) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "f"), "made");
  }
  const workspace = createLocalWorkspace({ root, environment: {} });
  return { root, outside, workspace, path: join(root, "d", "f") };
}

const made = createHash("sha256").update("made").digest("hex");

it("deletes a file that did not exist before, unless it was changed since", async () => {
  const { workspace, path } = place();
  expect(await restoreFile({ path, content: null, expect: "another" }, workspace)).toMatchObject({ ok: false });
  expect(existsSync(path)).toBe(true);
  expect(await restoreFile({ path, content: null, expect: made }, workspace)).toEqual({ ok: true });
  expect(existsSync(path)).toBe(false);
});

it.each([null, Buffer.from("earlier").toString("base64")])(
  "changes nothing outside the workspace if the directory is replaced with a symlink after the check (content: %s)",
  async (content) => {
    const { root, outside, workspace, path } = place();
    const swapping: Workspace = {
      ...workspace,
      read: async (...request) => {
        const read = await workspace.read(...request);
        renameSync(join(root, "d"), join(root, "moved"));
        symlinkSync(outside, join(root, "d"));
        return read;
      },
    };
    expect(await restoreFile({ path, content, expect: made }, swapping)).toMatchObject({ ok: false });
    expect(readFileSync(join(outside, "f"), "utf8")).toBe("made");
    expect(readFileSync(join(root, "moved", "f"), "utf8")).toBe("made");
  },
);
