import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkServerConfig, expandVariables } from "./server-config.ts";

const variable = (name: string) => `\${${name}}`;

describe("checkServerConfig", () => {
  it.each([
    [
      { command: "npx", args: ["-y", "files"], env: { PORT: 8080 }, cwd: "sub", timeout: 5000, alwaysAllow: [] },
      { type: "stdio", command: "npx", args: ["-y", "files"], env: { PORT: "8080" }, cwd: "sub", timeout: 5000 },
    ],
    [
      { type: "http", url: "https://example.org/mcp", headers: { Authorization: `Bearer ${variable("T")}` } },
      { type: "http", url: "https://example.org/mcp", headers: { Authorization: `Bearer ${variable("T")}` } },
    ],
    [{ url: "https://example.org/mcp" }, { type: "http", url: "https://example.org/mcp" }],
    [
      { type: "streamable-http", url: "https://example.org" },
      { type: "http", url: "https://example.org" },
    ],
    [
      { type: "sse", url: "https://example.org/sse" },
      { type: "sse", url: "https://example.org/sse" },
    ],
  ])("accepts %j", (value, config) => {
    expect(checkServerConfig(value)).toEqual({ ok: true, config });
  });

  it.each([
    [{ type: "ws", url: "ws://x" }, 'use "stdio", "http" or "sse"'],
    [{}, 'neither "command" nor "url"'],
    [{ command: ["a", "b"] }, 'put its arguments in "args"'],
    [{ command: "a", args: "b c" }, '"args"'],
    [{ command: "a", env: ["B=c"] }, '"env"'],
    [{ command: "a", timeout: "1m" }, '"timeout"'],
    [{ url: "https://x", headers: "x" }, '"headers"'],
    ["npx server", "must be an object"],
  ])("rejects %j", (value, message) => {
    expect(checkServerConfig(value)).toEqual({ ok: false, message: expect.stringContaining(message) });
  });

  it("never throws, and accepts its own result", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const checked = checkServerConfig(value);
        if (checked.ok) expect(checkServerConfig(checked.config)).toEqual(checked);
      }),
    );
  });
});

describe("expandVariables", () => {
  const expand = (command: string, environment: Record<string, string>) =>
    expandVariables({ type: "stdio", command }, environment);

  it("replaces variables in one pass, and names those that are missing", () => {
    const environment = { A: `x${variable("B")}`, B: "y", EMPTY: "" };
    const all = `${variable("A")}|${variable("EMPTY")}|${variable("EMPTY:-z")}|${variable("C:-")}|$A|${variable("1")}`;
    expect(expand(all, environment)).toEqual({
      ok: true,
      config: { type: "stdio", command: `x${variable("B")}||z||$A|${variable("1")}` },
    });
    expect(expand(`${variable("C")}${variable("toString")}${variable("C")}`, environment)).toEqual({
      ok: false,
      missing: ["C", "toString"],
    });
  });

  it("applies to every string in a configuration", () => {
    const environment = { X: "1" };
    const x = variable("X");
    expect(expandVariables({ type: "stdio", command: x, args: [x], env: { X: x }, cwd: x }, environment)).toEqual({
      ok: true,
      config: { type: "stdio", command: "1", args: ["1"], env: { X: "1" }, cwd: "1" },
    });
    expect(expandVariables({ type: "http", url: x, headers: { H: x }, timeout: 3 }, environment)).toEqual({
      ok: true,
      config: { type: "http", url: "1", headers: { H: "1" }, timeout: 3 },
    });
  });
});
