import { readFileSync } from "node:fs";
import { FileCache } from "../../lib/index.ts";
import { fold, initialState, type QueuedPrompt } from "../../loop/index.ts";
import { MAIN_AGENT, type PromptId } from "../../protocol/index.ts";
import { inboxOf, openInbox, readTranscript } from "../../transcript/index.ts";
import { systemClock } from "../system-clock.ts";

/** A prompt that no agent has received yet. It is in the queue, or was sent while the session was not running. */
export interface WaitingPrompt extends QueuedPrompt {
  /** The agent that receives the prompt, as the sender named it. */
  readonly to: string;
}

/** Reads a session's undelivered prompts, oldest first. `transcriptPath` is the main agent's transcript. */
export function readWaitingPrompts(transcriptPath: string, cache = new FileCache()): readonly WaitingPrompt[] {
  const inboxPath = inboxOf(transcriptPath);
  const queue = cache.get(transcriptPath, () => readQueue(transcriptPath));
  const commands = cache.get(inboxPath, () => openInbox({ path: inboxPath, clock: systemClock }).commands());
  const waiting = new Map<PromptId, WaitingPrompt>();
  for (const prompt of queue) waiting.set(prompt.promptId, { ...prompt, to: MAIN_AGENT });
  for (const command of commands) {
    if (command.type === "prompt")
      waiting.set(command.id, { promptId: command.id, content: command.content, to: command.to });
    if (command.type === "withdraw") waiting.delete(command.promptId);
  }
  return [...waiting.values()];
}

/** Reads a session's queued prompts. */
function readQueue(transcriptPath: string): readonly QueuedPrompt[] {
  if (!hasQueued(transcriptPath)) return [];
  return readTranscript(transcriptPath).lines.reduce(fold, initialState).queue;
}

/**
 * Returns whether a prompt has ever been queued. Most transcripts contain no queued prompt, so they need not be parsed.
 */
function hasQueued(transcriptPath: string): boolean {
  try {
    return readFileSync(transcriptPath).includes('"type":"prompt.queued"');
  } catch {
    return false;
  }
}
