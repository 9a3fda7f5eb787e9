// An MCP server on standard input and output. The argument describes the server's faults: `serve '{"crashAtCall": 2}'`.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createMcpServer, type McpBehavior, type McpMessage } from "./mcp-server.test-support.ts";

const behavior = JSON.parse(process.argv[2] ?? "{}") as McpBehavior;
const server = createMcpServer(behavior);
process.stderr.write("test server: started\n");
if (behavior.exitAtStart) {
  process.stderr.write("test server: no database\n");
  process.exit(3);
}
if (behavior.leavesChild) spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref();
if (behavior.stubborn) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 60_000);
}

const send = (message: object) => void process.stdout.write(`${JSON.stringify(message)}\n`);
const crash = () => {
  process.stderr.write("test server: this is a crash\n");
  process.exit(7);
};
createInterface({ input: process.stdin }).on("line", (line) => {
  void server.answer(JSON.parse(line) as McpMessage, { send, crash }).then((answer) => {
    if (answer === undefined) return;
    for (let count = 0; count < (behavior.junkLines ?? 0); count++) process.stdout.write("Loading {…\n");
    send(answer);
  });
});
