import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Clock } from "../../ports/index.ts";
import type { DurableEvent, Head } from "../../protocol/index.ts";
import type { TranscriptOptions } from "./transcript.ts";

export const fixedClock: Clock = { now: () => 1_700_000_000_000, monotonic: () => 0 };

const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

export interface TestPlace {
  readonly root: string;
  readonly home: string;
  readonly cwd: string;
  options(sessionId?: string): TranscriptOptions;
}

export function testPlace(): TestPlace {
  const root = mkdtempSync(join(tmpdir(), "retinue-transcript-"));
  made.push(root);
  const home = join(root, "home");
  const cwd = join(root, "project");
  mkdirSync(cwd);
  return { root, home, cwd, options: (sessionId = "s1") => ({ home, cwd, sessionId, clock: fixedClock }) };
}

export function notice(message: string): DurableEvent {
  return { type: "notice.raised", code: "test", message };
}

export function notices(count: number, from = 1): DurableEvent[] {
  return Array.from({ length: count }, (_, index) => notice(`message ${from + index}`));
}

export function messagesOf(lines: readonly DurableEvent[]): string[] {
  return lines.map((line) => (line.type === "notice.raised" ? line.message : line.type));
}

export const someHead: Head = {
  provider: "test",
  dialect: "anthropic",
  model: "test-model",
  tools: [],
  system: "Be brief.",
  systemContext: "",
  userContext: "",
};
