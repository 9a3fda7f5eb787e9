// The baseline for delegation: one process that runs a conversation for each Task call, all at once over keep-alive
// connections. Like Retinue, it appends every step to a file of its agent before the next step, and syncs the steps of
// all agents together in a second file. It checks nothing and retries nothing.
// Usage: node baseline-retinue.mjs URL PROMPT MAIN_HEAD_FILE CHILD_HEAD_FILE.
import { fdatasync, openSync, readFileSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const [url, prompt, mainHeadFile, childHeadFile] = process.argv.slice(2);
const heads = { main: readFileSync(mainHeadFile, "utf8"), child: readFileSync(childHeadFile, "utf8") };
const agent = new Agent({ keepAlive: true, noDelay: true });
const directory = dirname(mainHeadFile);
const log = openSync(join(directory, "log.jsonl"), "a");
const sync = promisify(fdatasync);
let agents = 0;
let unsynced = "";
let syncing;

const report = await converse(heads.main, prompt);
process.stdout.write(`${report}\n`);
agent.destroy();

async function converse(head, words) {
  agents += 1;
  const file = openSync(join(directory, `agent-${agents}.jsonl`), "a", 0o600);
  const record = (...steps) => {
    const lines = steps.map((step) => `${JSON.stringify(step)}\n`).join("");
    writeSync(file, lines);
    unsynced += lines;
  };
  const messages = [{ role: "user", content: [{ type: "text", text: words }] }];
  record({ step: "created" }, { step: "prompt", message: messages[0] });
  for (;;) {
    record({ step: "requested" });
    const content = await ask(`${head.slice(0, -1)},"messages":${JSON.stringify(messages)}}`);
    record({ step: "answered", content });
    messages.push({ role: "assistant", content });
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) {
      record({ step: "ended" });
      await synced();
      return content.map((block) => block.text ?? "").join("");
    }
    const results = await Promise.all(
      calls.map(async (call) => {
        record({ step: "started", id: call.id });
        const result = await perform(call);
        record({ step: "performed", id: call.id, result });
        return result;
      }),
    );
    messages.push({
      role: "user",
      content: calls.map(({ id }, index) => ({ type: "tool_result", tool_use_id: id, content: results[index] })),
    });
  }
}

/** Resolves when all steps so far are on the disk. Callers that arrive during a sync share the next one. */
async function synced() {
  const current = syncing;
  const next = current?.next ?? { done: undefined };
  if (current === undefined) next.done = syncOnce(next);
  else next.done ??= current.done.then(() => syncOnce(next));
  if (current !== undefined) current.next = next;
  await next.done;
}

async function syncOnce(own) {
  syncing = own;
  await Promise.resolve();
  writeSync(log, unsynced);
  unsynced = "";
  await sync(log);
  if (own.next === undefined) syncing = undefined;
}

async function perform({ name, input }) {
  if (name === "Task")
    return `<task_result status="completed">\n${await converse(heads.child, input.prompt)}\n</task_result>`;
  const from = input.offset - 1;
  return readFileSync(input.file_path, "utf8")
    .split("\n", from + input.limit)
    .slice(from)
    .join("\n");
}

function ask(body) {
  return new Promise((resolve, reject) => {
    const call = request(
      `${url}/v1/messages`,
      {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "x-api-key": "k", "content-length": Buffer.byteLength(body) },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(readEvents(text)));
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}

function readEvents(text) {
  const blocks = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: ")) continue;
    const event = JSON.parse(line.slice(6));
    if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block, json: "" };
    if (event.type !== "content_block_delta") continue;
    if (event.delta.type === "text_delta") blocks[event.index].text += event.delta.text;
    if (event.delta.type === "input_json_delta") blocks[event.index].json += event.delta.partial_json;
  }
  return blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(json || "{}") } : block,
  );
}
