import { readFileSync } from "node:fs";
import type { ToolContext } from "../../ports/index.ts";
import type { Access, Decision } from "../../protocol/index.ts";

export interface TestContext extends ToolContext {
  readonly asked: Access[];
  readonly told: string[];
}

/**
 * Allows the accesses for which `allow` returns true, hides the paths for which `hidden` returns true, and records
 * accesses and progress.
 */
export function testContext({
  agentId = "main",
  callId = "call1",
  signal = new AbortController().signal,
  allow = () => false,
  hidden = () => false,
}: {
  agentId?: string;
  callId?: string;
  signal?: AbortSignal;
  allow?: (access: Access) => boolean;
  hidden?: (path: string) => boolean;
} = {}): TestContext {
  const asked: Access[] = [];
  const told: string[] = [];
  return {
    agentId,
    callId,
    signal,
    paths: [],
    asked,
    told,
    hidden,
    hiddenElsewhere: async () => new Set(),
    progress: (text) => told.push(text),
    authorize: async (access): Promise<Decision> => {
      asked.push(access);
      return { effect: allow(access) ? "allow" : "deny", rule: "test", scope: "flag", reason: "the test says so" };
    },
  };
}

export function textOfOutput({ content }: { content: string | readonly { type: string }[] }): string {
  if (typeof content !== "string") throw new Error("expected text");
  return content;
}

/** Returns whether a process is running. Zombies are not considered running. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
