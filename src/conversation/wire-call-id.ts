import type { CallId } from "../protocol/index.ts";

/**
 * A call's id as a provider is sent it. In a session it names its agent; in one conversation the number of the request
 * tells calls apart, and every random letter would be paid for twice in each request to come.
 */
export function wireCallId(callId: CallId): string {
  return callId.replace(own, (_, agent: string, call: string) => agent.slice(0, 1) + call);
}

const own = /^(main|a[0-9a-z]{12})_(\d+_\d+)$/;
