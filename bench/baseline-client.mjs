// The baseline for most benchmarks: a bare loop on node:http with one tool, and without a journal, checks or retries.
// Usage: node baseline-client.mjs URL PROMPT HEAD_FILE, where HEAD_FILE contains the request's JSON except its
// messages.
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";

const [url, prompt, headFile] = process.argv.slice(2);
const head = JSON.parse(readFileSync(headFile, "utf8"));
const agent = new Agent({ keepAlive: true });
const messages = [{ role: "user", content: [{ type: "text", text: prompt }] }];

function ask() {
  const body = JSON.stringify({ ...head, messages });
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

function perform({ name, input }) {
  if (name === "Write") {
    writeFileSync(input.file_path, input.content);
    return "written";
  }
  const from = (input.offset ?? 1) - 1;
  return readFileSync(input.file_path, "utf8")
    .split("\n")
    .slice(from, from + (input.limit ?? 2000))
    .join("\n");
}

for (;;) {
  const content = await ask();
  messages.push({ role: "assistant", content });
  const calls = content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) break;
  messages.push({
    role: "user",
    content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: perform(call) })),
  });
}
process.stdout.write(
  `${messages
    .at(-1)
    .content.map((block) => block.text ?? "")
    .join("")}\n`,
);
agent.destroy();
