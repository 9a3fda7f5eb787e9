import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import {
  callTool,
  createToolPlace,
  type ToolPlace,
  textOfOutput,
  toolContext,
} from "../shared/tool-place.test-support.ts";
import { createLsTool } from "./ls.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
});
afterEach(() => place.remove());

const list = async (input: JsonObject, context = toolContext()) =>
  textOfOutput(await callTool(createLsTool(place), input, context));

describe("LS", () => {
  it("shows directories first, then files with sizes, symlinks and other entries", async () => {
    place.put("b.txt", "12345");
    place.put(".hidden", "");
    place.put("z/inner.txt", "");
    symlinkSync("b.txt", join(place.root, "link"));
    execFileSync("mkfifo", [join(place.root, "pipe")]);
    expect(await list({})).toBe("z/\n.hidden 0 B\nb.txt 5 B\nlink@\npipe (not a regular file)\n");
    expect(await list({ path: "z" })).toBe("inner.txt 0 B\n");
    expect(await list({ path: join(place.root, "z") })).toBe("inner.txt 0 B\n");
  });

  it("leaves out entries that are ignored or hidden by rules", async () => {
    for (const name of ["a.ts", "a.js", "b.js", "secret.env"]) place.put(name, "");
    mkdirSync(join(place.root, "node_modules"));
    const hidden = toolContext({ hidden: (path) => path === join(place.root, "secret.env") });
    expect(await list({ ignore: ["*.js", "node_modules"] }, hidden)).toBe("a.ts 0 B\n[3 names ignored.]");
    expect(await list({ ignore: ["*.js", "**/node_modules/**", "secret*"] })).toBe("a.ts 0 B\n[4 names ignored.]");
    expect(await list({ ignore: [""] })).toContain('The pattern "" in ignore is not valid');
    mkdirSync(join(place.root, "empty"));
    expect(await list({ path: "empty" })).toBe("[The directory is empty.]");
  });

  it("limits the output for large directories, and says how many entries are not shown", async () => {
    const directory = join(place.root, "many");
    mkdirSync(directory);
    for (let index = 0; index < 620; index++) writeFileSync(join(directory, `f${String(index).padStart(4, "0")}`), "");
    const text = await list({ path: "many" });
    expect(text.split("\n")).toHaveLength(501);
    expect(text).toContain("f0499 0 B\n[120 more not shown. Use Glob with a pattern.]");
  });

  it("escapes control characters in names", async () => {
    place.put("a\u001b[31m\nb", "");
    expect(await list({})).toBe("a\\x1b[31m\\nb 0 B\n");
  });

  it("suggests Read for files, and similar names for typos", async () => {
    place.put("source/a.ts", "");
    expect(await list({ path: "source/a.ts" })).toBe("source/a.ts is not a directory. Use Read for files.");
    expect(await list({ path: "sorce" })).toBe("sorce does not exist. Did you mean source?");
  });
});
