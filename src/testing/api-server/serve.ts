import { startFromFile } from "./start-from-file.ts";

// Usage: node --import tsx src/testing/api-server/serve.ts script.json [port]
const [path, port] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write("usage: serve.ts <script.json> [port]\n");
  process.exit(2);
}
try {
  const server = await startFromFile(path, port === undefined ? {} : { port: Number(port) });
  process.stdout.write(`${server.url}\n`);
  process.once("SIGINT", () => void server.close().then(() => report(server)));
  process.once("SIGTERM", () => void server.close().then(() => report(server)));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}

function report(server: Awaited<ReturnType<typeof startFromFile>>): void {
  try {
    server.assertDone();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
