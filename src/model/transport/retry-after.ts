import type { ResponseHeaders } from "../http/response-reader.ts";

/** How long the server asked to wait, in milliseconds; undefined when it did not ask. `now` is the time of day. */
export function retryAfterOf(headers: ResponseHeaders, now: number): number | undefined {
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"] ?? ""));
  if (milliseconds >= 0 && Number.isFinite(milliseconds)) return milliseconds;
  const value = headers["retry-after"]?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
