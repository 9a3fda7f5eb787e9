// A web page on which every visitor talks to an agent. Answers are streamed as they are written.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { openSession, type Session } from "retinue";

const page = `<!doctype html><title>Chat</title><form><input name="words" autofocus></form><pre></pre><script>
const visitor = crypto.randomUUID(), pre = document.querySelector("pre");
document.querySelector("form").onsubmit = async (event) => {
  event.preventDefault();
  const body = new FormData(event.target).get("words");
  event.target.reset();
  const { body: answer } = await fetch("/chat?visitor=" + visitor, { method: "POST", body });
  pre.append("\\n> " + body + "\\n");
  const parts = answer.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await parts.read(); !part.done; part = await parts.read()) pre.append(part.value);
};
</script>`;

const sessions = new Map<string, Promise<Session>>();
const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (request.method !== "POST" || pathname !== "/chat") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
    return;
  }
  const visitor = searchParams.get("visitor") ?? "";
  const opened = sessions.get(visitor) ?? openSession({ permissionMode: "plan", settings: { budget: { usd: 1 } } });
  sessions.set(visitor, opened);
  const [session, words] = await Promise.all([opened, text(request)]);
  // If the visitor leaves, the run is stopped.
  const left = new AbortController();
  response.on("close", () => left.abort());
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  const run = session.prompt(words, { signal: left.signal });
  for await (const part of run.textStream) response.write(part);
  const { outcome, message } = await run.result;
  response.end(outcome === "succeeded" ? "\n" : `\n[${message}]\n`);
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => console.log(server.address()));
process.on("SIGTERM", async () => {
  server.close();
  for (const session of sessions.values()) await (await session).close();
});
