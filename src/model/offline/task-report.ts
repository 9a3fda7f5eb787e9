import type { Seen } from "./job.ts";

/** What came of a Task call. */
export type TaskReport =
  | { readonly kind: "whole"; readonly text: string }
  /** The agent ended before it was done; these are its last words. */
  | { readonly kind: "partial"; readonly text: string; readonly why: string }
  | { readonly kind: "none"; readonly why: string };

const form = /<task_(result|error)\b([^>]*)>\n?([\s\S]*?)(?:\n?<\/task_\1>|$)/;

/** Whatever is not a finished report in its tags is told as what it is. */
export function readTaskReport({ ok, text }: Pick<Seen, "ok" | "text">): TaskReport {
  const [, tag, attributes = "", inside = ""] = form.exec(text) ?? [];
  const words = inside.trim();
  if (tag !== "result") return { kind: "none", why: (words || text.trim()).split("\n")[0] || "nothing was told" };
  const status = /\bstatus="([^"]*)"/.exec(attributes)?.[1] ?? "unknown";
  if (words === "") return { kind: "none", why: `it ended as ${status} and reported nothing` };
  if (!ok || status !== "completed") return { kind: "partial", text: words, why: `it ended as ${status}` };
  if (!text.includes("</task_result>")) return { kind: "partial", text: words, why: "its report was cut" };
  return { kind: "whole", text: words };
}
