import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkServerConfig, expandVariables, readMcpConfig } from "./server-config.ts";

const variable = (name: string) => `\${${name}}`;

describe("readMcpConfig", () => {
  it("reads servers of every kind, with comments and keys of other programs", () => {
    const text = `{
      // what the team uses
      "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "files"], "env": { "PORT": 8080 }, "cwd": "sub", "timeout": 5000, "alwaysAllow": [] },
        "web": { "type": "http", "url": "https://example.org/mcp", "headers": { "Authorization": "Bearer ${variable("T")}" } },
        "bare": { "url": "https://example.org/mcp" },
        "other": { "type": "streamable-http", "url": "https://example.org" },
        "old": { "type": "sse", "url": "https://example.org/sse" },
      },
    }`;
    const { servers, diagnostics } = readMcpConfig(text, ".mcp.json");
    expect(diagnostics).toEqual([]);
    expect(servers).toEqual({
      files: { type: "stdio", command: "npx", args: ["-y", "files"], env: { PORT: "8080" }, cwd: "sub", timeout: 5000 },
      web: { type: "http", url: "https://example.org/mcp", headers: { Authorization: `Bearer ${variable("T")}` } },
      bare: { type: "http", url: "https://example.org/mcp" },
      other: { type: "http", url: "https://example.org" },
      old: { type: "sse", url: "https://example.org/sse" },
    });
  });

  it("leaves out what it can't read, with file, line and cure, and keeps the rest", () => {
    const text = [
      "{",
      '"mcpServers": {',
      '"good": { "command": "a" },',
      '"ws": { "type": "ws", "url": "ws://x" },',
      '"empty": {},',
      '"list": { "command": ["a", "b"] },',
      '"args": { "command": "a", "args": "b c" },',
      '"env": { "command": "a", "env": ["B=c"] },',
      '"slow": { "command": "a", "timeout": "1m" },',
      '"head": { "url": "https://x", "headers": "x" },',
      '"off": { "command": "a", "disabled": true },',
      '"text": "npx server"',
      "} }",
    ].join("\n");
    const { servers, diagnostics } = readMcpConfig(text, "/p/.mcp.json");
    expect(Object.keys(servers)).toEqual(["good"]);
    expect(diagnostics.map(({ line, code }) => `${line} ${code}`)).toEqual([
      ...[4, 5, 6, 7, 8, 9, 10].map((line) => `${line} mcp_server_invalid`),
      "11 mcp_server_disabled",
      "12 mcp_server_invalid",
    ]);
    expect(diagnostics.every(({ file }) => file === "/p/.mcp.json")).toBe(true);
    expect(diagnostics[0]?.message).toContain('use "stdio", "http" or "sse"');
    expect(diagnostics[2]?.message).toContain('its arguments go into "args"');
  });

  it("says where broken text breaks, and what an empty file needs", () => {
    expect(readMcpConfig('{\n"mcpServers": {\n', "f").diagnostics[0]).toMatchObject({ line: 3, code: "json_invalid" });
    expect(readMcpConfig("{}", "f").diagnostics[0]).toMatchObject({ severity: "error", code: "mcp_servers_missing" });
    const twice = readMcpConfig('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "f");
    expect(twice.diagnostics[0]).toMatchObject({ severity: "warning" });
  });

  it("takes __proto__ for a name", () => {
    const { servers } = readMcpConfig('{"mcpServers": {"__proto__": {"command": "x"}}}', "f");
    expect(Object.keys(servers)).toEqual(["__proto__"]);
  });

  it("never throws, and what it takes it takes again", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (mcpServers) => {
        const { servers } = readMcpConfig(JSON.stringify({ mcpServers }), "f");
        for (const config of Object.values(servers)) expect(checkServerConfig(config)).toEqual({ ok: true, config });
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => void readMcpConfig(text, "f")));
  });
});

describe("expandVariables", () => {
  const expand = (command: string, environment: Record<string, string>) =>
    expandVariables({ type: "stdio", command }, environment);

  it("replaces variables once, and names those that are missing", () => {
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

  it("reaches every text of a configuration", () => {
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
