import { Worker } from "node:worker_threads";
import { maxLineLength, type SearchFiles } from "./search-request.ts";
import { type ThreadJob, type ThreadMessage, threadSource } from "./thread-source.ts";

// A list is filtered and counted by whoever asked for it; matches beyond this nobody wants to see.
const maxMatches = 200_000;

/** Searches in a thread of this process, for machines without ripgrep: slower, and with JavaScript's regular expressions. */
export const searchInThread: SearchFiles = (request, { onHit, signal }) =>
  new Promise((fulfil) => {
    const maxHits = request.mode === "list" ? Number.MAX_SAFE_INTEGER : maxMatches;
    const job: ThreadJob = { request, maxHits, maxLineLength };
    const worker = new Worker(threadSource, { eval: true, workerData: job, env: {} });
    const finish = (end: Awaited<ReturnType<SearchFiles>>) => {
      signal.removeEventListener("abort", stop);
      fulfil(end);
      void worker.terminate();
    };
    const stop = () => finish({ ok: true });
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    worker.on("message", (message: ThreadMessage) => {
      if (message.type === "failed") return finish({ ok: false, message: message.message });
      if (message.type === "done" || !message.hits.every((hit) => onHit(hit))) finish({ ok: true });
    });
    worker.on("error", (error) => finish({ ok: false, message: error.message }));
    worker.on("exit", stop);
  });
