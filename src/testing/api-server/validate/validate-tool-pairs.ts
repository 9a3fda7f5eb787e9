import { demand } from "./check.ts";
import type { CheckedMessage } from "./validate-anthropic-block.ts";

/** Every tool_use is answered at the start of the very next user turn, and nothing else is. */
export function checkToolPairs(messages: readonly CheckedMessage[]): void {
  const turns = mergeTurns(messages);
  const seen = new Set<string>();
  for (const [position, turn] of turns.entries()) {
    const calls = idsOf(turn, "tool_use", "id");
    for (const id of calls) {
      demand(!seen.has(id), `messages.${turn.index}: \`tool_use\` ids must be unique, ${id} is there twice`);
      seen.add(id);
    }
    if (turn.role === "user") checkResults(turn, turns[position - 1]);
    if (calls.length > 0) checkAnswered(turn, { calls, next: turns[position + 1] });
  }
}

/** The provider takes consecutive messages of one role as one turn. */
function mergeTurns(messages: readonly CheckedMessage[]): readonly CheckedMessage[] {
  const turns: CheckedMessage[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role !== message.role) turns.push(message);
    else turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...message.blocks] };
  }
  return turns;
}

function checkResults(turn: CheckedMessage, before: CheckedMessage | undefined): void {
  const calls = before === undefined ? [] : idsOf(before, "tool_use", "id");
  const results = idsOf(turn, "tool_result", "tool_use_id");
  for (const [index, id] of results.entries()) {
    demand(
      calls.includes(id),
      `messages.${turn.index}: unexpected \`tool_use_id\` in \`tool_result\` blocks: ${id}. ` +
        "Each `tool_result` needs its `tool_use` in the previous message.",
    );
    demand(
      results.indexOf(id) === index,
      `messages.${turn.index}: each tool_use must have a single result, ${id} has two`,
    );
  }
}

type Asked = { calls: readonly string[]; next: CheckedMessage | undefined };

function checkAnswered(turn: CheckedMessage, { calls, next }: Asked): void {
  const firstOther = next?.blocks.findIndex((block) => block["type"] !== "tool_result") ?? 0;
  const atStart = firstOther < 0 ? next?.blocks : next?.blocks.slice(0, firstOther);
  const answered = new Set((atStart ?? []).map((block) => String(block["tool_use_id"])));
  const open = calls.filter((id) => !answered.has(id));
  demand(
    open.length === 0,
    `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. ` +
      "Each `tool_use` needs its `tool_result` at the start of the next message.",
  );
}

function idsOf(turn: CheckedMessage, type: string, key: string): readonly string[] {
  return turn.blocks.filter((block) => block["type"] === type).map((block) => String(block[key]));
}
