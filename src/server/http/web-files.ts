import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { errorCode } from "../../lib/index.ts";

/** Files of the web view, which browsers load without a token, because the files contain no data. */
export interface WebFiles {
  /** Answers a request for one of the files. Returns false for any other request. */
  answer(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
}

interface WebFile {
  readonly content: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  zipped?: Buffer;
}

/** Reads a directory's files once, so that requests can't reach any other file. */
export function readWebFiles(directory: string | undefined): WebFiles {
  const files = new Map<string, WebFile>();
  for (const name of directory === undefined ? [] : namesIn(directory)) {
    const path = `/${name.replaceAll("\\", "/")}`;
    files.set(path === "/index.html" ? "/" : path, {
      content: readFileSync(join(directory ?? "", name)),
      headers: headersOf(path),
    });
  }
  return {
    answer: (incoming, outgoing) => {
      const file = incoming.method === "GET" ? files.get(incoming.url?.split("?")[0] ?? "") : undefined;
      if (file === undefined) return false;
      const isZipped = /\bgzip\b/.test(incoming.headers["accept-encoding"] ?? "");
      if (isZipped) file.zipped ??= gzipSync(file.content);
      const body = (isZipped && file.zipped) || file.content;
      outgoing.writeHead(200, {
        ...file.headers,
        ...(isZipped && { "Content-Encoding": "gzip" }),
        Vary: "Accept-Encoding",
        "Content-Length": body.length,
      });
      outgoing.end(body);
      return true;
    },
  };
}

function namesIn(directory: string): readonly string[] {
  try {
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && extname(entry.name) in types)
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  } catch (error) {
    // A build without the web view has no such directory.
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Content security policy. The page may load its own files and call its own server, but nothing else, and can't turn
 * text into markup.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

function headersOf(path: string): Readonly<Record<string, string>> {
  const type = types[extname(path)] ?? "";
  // Every file name contains a hash of the content, except that of the page.
  if (path !== "/index.html") return { "Content-Type": type, "Cache-Control": "public, max-age=31536000, immutable" };
  return { "Content-Type": type, "Content-Security-Policy": policy, "Cross-Origin-Opener-Policy": "same-origin" };
}
