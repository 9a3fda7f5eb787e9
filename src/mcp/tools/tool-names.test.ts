import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameProperties, nameServers, nameTools } from "./tool-names.ts";

const names = fc.uniqueArray(
  fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("a__b", "a_b", "a.b", "__", "x".repeat(90))),
);

describe("names of MCP tools", () => {
  it("stay unchanged if they are safe", () => {
    expect([...nameServers(["github", "my-server", "a_b"]).values()]).toEqual(["github", "my-server", "a_b"]);
    expect(nameTools("github", ["create_issue", "list__all"]).get("list__all")).toBe("mcp__github__list__all");
  });

  it("never let one server's name look like part of another's", () => {
    const named = nameServers(["a", "a__b", "__a__", "ä"]);
    expect(named.get("a")).toBe("a");
    expect(named.get("a__b")).toBe("a_b");
    expect(named.get("__a__")).toMatch(/^a_[0-9a-f]{8}$/);
    expect(named.get("ä")).toBe("server");
  });

  it("are always safe, short and unique", () => {
    fc.assert(
      fc.property(names, names, (servers, tools) => {
        const all = [...nameServers(servers)].flatMap(([, server]) => [...nameTools(server, tools).values()]);
        for (const name of all) expect(name).toMatch(/^mcp__[A-Za-z0-9_-]{1,59}$/);
        for (const server of nameServers(servers).values()) expect(server).not.toMatch(/__|^_|_$/);
        expect(new Set(all).size).toBe(servers.length * tools.length);
      }),
    );
  });

  it("are made safe for input properties, too", () => {
    expect(nameProperties(["$filter", "_filter", "user.id"]).get("$filter")).toMatch(/^_filter_[0-9a-f]{8}$/);
    fc.assert(
      fc.property(names, (members) => {
        const all = [...nameProperties(members).values()];
        for (const name of all) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
        expect(new Set(all).size).toBe(members.length);
      }),
    );
  });

  it("do not depend on the order of the servers", () => {
    fc.assert(
      fc.property(names, (servers) => {
        const there = nameServers(servers);
        const back = nameServers([...servers].reverse());
        for (const name of servers) expect(back.get(name)).toBe(there.get(name));
      }),
    );
  });
});
