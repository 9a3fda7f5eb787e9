import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createReadTool } from "../read/read.ts";
import {
  callTool,
  createToolPlace,
  type ToolPlace,
  textOfOutput,
  toolContext,
} from "../shared/tool-place.test-support.ts";
import { createWriteTool } from "./write.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
});
afterEach(() => place.remove());

const write = (file_path: string, content: string, context = toolContext()) =>
  callTool(createWriteTool(place), { file_path, content }, context);
const read = (file_path: string, limit = 2000) => callTool(createReadTool(place), { file_path, limit });

describe("Write", () => {
  it("creates a file with its directories", async () => {
    const output = await write("a/b/c.txt", "one\ntwo\n");
    expect(output).toMatchObject({
      content: "Created a/b/c.txt (2 lines).",
      details: { path: "a/b/c.txt", added: 2, removed: 0 },
      facts: { filesChanged: ["a/b/c.txt"] },
    });
    expect(place.get("a/b/c.txt")).toBe("one\ntwo\n");
  });

  it("replaces a file that the agent has read in full, even repeatedly, and shows the diff", async () => {
    const path = place.put("a.sh", "one\ntwo\n");
    chmodSync(path, 0o755);
    await read("a.sh");
    const output = await write("a.sh", "one\n2\n");
    expect(output.content).toBe("Replaced a.sh (2 lines).");
    expect(output.details).toEqual({ path: "a.sh", added: 1, removed: 1, diff: "@@ -1,2 +1,2 @@\n one\n-two\n+2\n" });
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect((await write("a.sh", "three")).isError).toBeUndefined();
    expect((await write("a.sh", "three")).content).toBe("a.sh already has exactly this content.");
    expect(place.get("a.sh")).toBe("three");
  });

  it("refuses files that the agent has not read, has read only in part, or that have changed since", async () => {
    place.put("a", "1\n2\n");
    expect(textOfOutput(await write("a", "x"))).toBe("You have not read a yet. Read it first, then repeat this call.");
    await read("a", 1);
    expect(textOfOutput(await write("a", "x"))).toContain("only part of");
    await read("a");
    expect((await write("a", "x", toolContext({ agentId: "other" }))).isError).toBe(true);
    place.put("a", "3\n4\n5\n");
    expect(textOfOutput(await write("a", "x"))).toContain("changed since you read it");
    expect(place.get("a")).toBe("3\n4\n5\n");
  });

  it("keeps encoding, byte order mark and CRLF", async () => {
    place.put("bom.txt", "\ufeffa\r\nb\r\n");
    place.put("wide.txt", Buffer.from("\ufeffa\n", "utf16le"));
    await read("bom.txt");
    await read("wide.txt");
    await write("bom.txt", "c\nd\n");
    await write("wide.txt", "ü\n");
    expect(place.get("bom.txt")).toBe("\ufeffc\r\nd\r\n");
    expect(readFileSync(join(place.root, "wide.txt")).toString("utf16le")).toBe("\ufeffü\n");
  });

  it("refuses directories, and symlinks to files that must not be written", async () => {
    mkdirSync(join(place.root, "d"));
    expect(textOfOutput(await write("d", "x"))).toContain("is a directory");
    symlinkSync("/tmp/somewhere-else", join(place.root, "link"));
    const context = toolContext({
      authorize: async () => ({ effect: "deny", rule: "r", scope: "builtin", reason: "outside" }),
    });
    expect(textOfOutput(await write("link", "x", context))).toContain(
      "/tmp/somewhere-else, which is not allowed: outside",
    );
    expect(textOfOutput(await write("/dev/full", "x"))).toContain("not a regular file");
  });

  it("limits the diff", async () => {
    const output = await write("big.txt", "line of text\n".repeat(100_000));
    expect(JSON.stringify(output.details).length).toBeLessThan(30_000);
  });
});
