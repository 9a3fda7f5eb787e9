// A web page on which every visitor talks to an agent. Answers are streamed as they are written.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { openSession, type Session } from "retinue";

const page = `<!doctype html><title>Chat</title><form><input name="words" autofocus></form><pre></pre><script>
const visitor = crypto.randomUUID(), pre = document.querySelector("pre");
document.querySelector("form").onsubmit = async (event) => {
  event.preventDefault();
  const body = new FormData(event.target).get("words").trim();
  if (!body) return;
  event.target.reset();
  const { body: answer } = await fetch("/chat?visitor=" + visitor, { method: "POST", body });
  pre.append("\\n> " + body + "\\n");
  const parts = answer.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await parts.read(); !part.done; part = await parts.read()) pre.append(part.value);
};
</script>`;

const sessions = new Map<string, Promise<Session>>();
const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500);
    response.end("The agent could not answer.");
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (request.method !== "POST" || pathname !== "/chat") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
    return;
  }
  const words = (await text(request)).trim();
  if (words === "") {
    response.writeHead(400).end("Write a message first.");
    return;
  }
  const session = await sessionOf(searchParams.get("visitor") ?? "");
  // If the visitor leaves, the run is stopped.
  const left = new AbortController();
  response.on("close", () => left.abort());
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  const run = session.prompt(words, { signal: left.signal });
  for await (const part of run.textStream) response.write(part);
  const { outcome, message } = await run.result;
  response.end(outcome === "succeeded" ? "\n" : `\n[${message}]\n`);
}

/** Opens a session with a visitor's first message. If that fails, the next message tries again. */
function sessionOf(visitor: string): Promise<Session> {
  const known = sessions.get(visitor);
  if (known !== undefined) return known;
  const opened = openSession({ permissionMode: "plan", settings: { budget: { usd: 1 } } });
  sessions.set(visitor, opened);
  opened.catch(() => sessions.delete(visitor));
  return opened;
}
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => console.log(server.address()));
process.on("SIGTERM", async () => {
  server.close();
  for (const session of sessions.values()) await (await session).close();
});
