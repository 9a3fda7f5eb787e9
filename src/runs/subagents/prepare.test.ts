import { describe, expect, it } from "vitest";
import { type Change, requestFor } from "../../agents/resolve/subagent.test-support.ts";
import { createResolver } from "./prepare.ts";

describe("createResolver", () => {
  const resolver = () => {
    const resolve = createResolver();
    return (change: Change = {}, name = "tester") => resolve(requestFor({ name }, change), []);
  };

  it("returns one head and one policy for identical requests", () => {
    const resolve = resolver();
    const first = resolve();
    resolve({}, "other");
    expect(resolve()).toBe(first);
  });

  it.each<[string, Change]>([
    ["prompt", { prompt: "Test other things." }],
    ["parent's rules", { parentPolicy: { rules: [{ text: "Bash", effect: "deny", scope: "user" }] } }],
    ["parent's tools", { parentPolicy: { pool: ["Read"] } }],
    ["directory", { workspaceRoot: "/elsewhere" }],
  ])("resolves again if the %s changed", (_, change) => {
    const resolve = resolver();
    const first = resolve();
    expect(resolve(change)).not.toEqual(first);
  });
});
