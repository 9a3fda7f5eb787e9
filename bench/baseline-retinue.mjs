// The baseline for delegation: one process that runs a conversation for each Task call, all at once over keep-alive
// connections, without a journal, checks or retries. Usage: node baseline-retinue.mjs URL PROMPT MAIN_HEAD_FILE
// CHILD_HEAD_FILE.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";

const [url, prompt, mainHeadFile, childHeadFile] = process.argv.slice(2);
const heads = { main: readFileSync(mainHeadFile, "utf8"), child: readFileSync(childHeadFile, "utf8") };
const agent = new Agent({ keepAlive: true, noDelay: true });

const report = await converse(heads.main, prompt);
process.stdout.write(`${report}\n`);
agent.destroy();

async function converse(head, words) {
  const messages = [{ role: "user", content: [{ type: "text", text: words }] }];
  for (;;) {
    const content = await ask(`${head.slice(0, -1)},"messages":${JSON.stringify(messages)}}`);
    messages.push({ role: "assistant", content });
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) return content.map((block) => block.text ?? "").join("");
    const results = await Promise.all(calls.map(perform));
    messages.push({
      role: "user",
      content: calls.map(({ id }, index) => ({ type: "tool_result", tool_use_id: id, content: results[index] })),
    });
  }
}

async function perform({ name, input }) {
  if (name === "Task")
    return `<task_result status="completed">\n${await converse(heads.child, input.prompt)}\n</task_result>`;
  const from = input.offset - 1;
  return readFileSync(input.file_path, "utf8")
    .split("\n")
    .slice(from, from + input.limit)
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
