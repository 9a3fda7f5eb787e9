import { describe, expect, it } from "vitest";
import { parseConfig } from "./config.ts";
import { parseDoctor } from "./doctor.ts";
import { parseAttach } from "./sessions/attach.ts";
import { parsePs } from "./sessions/ps.ts";
import { parseSessions } from "./sessions/sessions.ts";
import { parseTrust } from "./trust.ts";

const parsers = {
  sessions: parseSessions,
  ps: parsePs,
  attach: parseAttach,
  trust: parseTrust,
  config: parseConfig,
  doctor: parseDoctor,
};

describe("the arguments of commands", () => {
  it("name a session to resume, with a run's options", () => {
    const resume = { kind: "resume", options: { resume: "01ab", prompt: "And now?", verbose: true } };
    expect(parseSessions(["resume", "01ab", "And now?", "--verbose"])).toMatchObject(resume);
    expect(parseSessions(["resume", "--verbose", "01ab", "And", "now?"])).toMatchObject(resume);
    expect(() => parseSessions(["resume"])).toThrow("needs a session id");
    expect(() => parseSessions(["resume", "01ab", "-c"])).toThrow("There is no option -c");
    expect(parseSessions(["resume", "--help"])).toEqual({ kind: "help", topic: "sessions" });
  });

  it.each([
    ["sessions", [], { kind: "list", json: false, all: false }],
    ["sessions", ["--all", "--json"], { kind: "list", json: true, all: true }],
    ["sessions", ["list", "-C", "x"], { kind: "list", json: false, all: false, cwd: "x" }],
    ["sessions", ["show", "a", "--json"], { kind: "show", id: "a", json: true }],
    ["sessions", ["show", "a/b"], { kind: "show", id: "a", agent: "b", json: false }],
    ["sessions", ["show", "a", "--agent", "b"], { kind: "show", id: "a", agent: "b", json: false }],
    ["sessions", ["export", "a"], { kind: "export", id: "a" }],
    ["sessions", ["delete", "a", "b", "-y"], { kind: "delete", ids: ["a", "b"], yes: true }],
    ["trust", [], { kind: "list", json: false }],
    ["trust", ["add"], { kind: "add", directory: "." }],
    ["trust", ["remove", "x"], { kind: "remove", directory: "x" }],
    ["config", [], { kind: "show", json: false, origin: false, trust: false }],
    ["config", ["show", "--origin", "-C", "x"], { kind: "show", json: false, origin: true, trust: false, cwd: "x" }],
    ["config", ["-h"], { kind: "help", topic: "config" }],
    ["doctor", ["--model", "m"], { kind: "doctor", json: false, model: "m" }],
    ["ps", [], { kind: "ps", all: false, json: false }],
    ["ps", ["--all", "--json", "-C", "x"], { kind: "ps", all: true, json: true, cwd: "x" }],
    ["attach", ["a"], { kind: "attach", id: "a", fromStart: false, json: false }],
    [
      "attach",
      ["--server", "http://x"],
      { kind: "attach", id: undefined, server: "http://x", fromStart: false, json: false },
    ],
    [
      "attach",
      ["a/b", "--from", "start", "--json"],
      { kind: "attach", id: "a", agent: "b", fromStart: true, json: true },
    ],
    ["ps", ["-h"], { kind: "help", topic: "ps" }],
    ["doctor", ["-h"], { kind: "help", topic: "doctor" }],
  ] as const)("%s %j", (name, argv, command) => {
    expect(parsers[name](argv)).toEqual(command);
  });

  it.each([
    ["sessions", ["x"]],
    ["sessions", ["show", "a/"]],
    ["sessions", ["show", "/b"]],
    ["sessions", ["show", "a/b", "--agent", "c"]],
    ["sessions", ["export"]],
    ["sessions", ["show", "a", "b"]],
    ["ps", ["01ab"]],
    ["attach", ["a", "b"]],
    ["attach", ["a", "--from", "now"]],
    ["trust", ["all"]],
    ["trust", ["add", "a", "b"]],
    ["config", ["set"]],
    ["config", ["show", "x"]],
  ] as const)("refuse %s %j with a user error and exit code 2", (name, argv) => {
    expect(() => parsers[name](argv)).toThrowError(expect.objectContaining({ name: "UserError", exitCode: 2 }));
  });
});
