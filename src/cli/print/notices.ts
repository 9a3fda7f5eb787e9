import { approvalText, cutForMessage, describeCall } from "../../client/index.ts";
import { showExactly } from "../../lib/index.ts";
import { canonicalToolName, type EventOf, NO_APPROVER, type RunUpdate } from "../../protocol/index.ts";
import { withFlags } from "../output.ts";
import type { AskingWay } from "./print-options.ts";

export interface Notices {
  observe(update: RunUpdate): void;
  wasReported(sentence: string): boolean;
}

/**
 * Reports notices from a run and its agents, and calls that are waiting for approval or were denied because no one
 * could approve them. Reports each sentence once. `option` is added to the commands that answer.
 */
export function createNotices(onAsk: AskingWay, report: (sentence: string) => void, option = ""): Notices {
  const requests = new Map<string, EventOf<"approval.requested">>();
  const reported = new Set<string>();
  const reportOnce = (sentence: string): void => {
    if (reported.has(sentence)) return;
    reported.add(sentence);
    report(sentence);
  };
  return {
    observe: (update) => {
      const isSubagent = update.type === "subagent.event";
      const agentType = isSubagent ? update.agentType : undefined;
      const event = isSubagent ? update.event : update;
      if (event.type === "notice.raised") {
        // A sentence about a budget already names its agent.
        const needsName = agentType !== undefined && event.code !== "budget";
        reportOnce(needsName ? `${agentType}: ${event.message}` : event.message);
      }
      if (event.type === "approval.requested") {
        requests.set(event.requestId, event);
        if (onAsk === "wait" && event.attended !== false) reportOnce(waitingMessage(event, { agentType, option }));
      }
      if (event.type !== "approval.answered" || event.by !== NO_APPROVER || onAsk === "hook") return;
      const request = requests.get(event.requestId);
      if (request !== undefined) reportOnce(deniedMessage(request, onAsk));
    },
    wasReported: (sentence) => reported.has(sentence),
  };
}

/**
 * Returns the lines to print for the notices that opening a session produced. Without `verbose`, several notices become
 * one line with the first sentence of each, which says what happened. A notice about a mistake in a file or an option
 * keeps its own line.
 */
export function openingNotices(
  notices: readonly string[],
  { verbose }: { readonly verbose: boolean },
): readonly string[] {
  if (verbose) return notices;
  const general = notices.filter((notice) => !isLocated(notice));
  if (general.length < 2) return notices;
  const first = general.map((notice) => notice.split(betweenSentences, 1)[0] ?? "");
  const isShortened = first.some((sentence, at) => sentence !== general[at]);
  const joined = `${first.join(" ")}${isShortened ? " (Add --verbose to see what to do.)" : ""}`;
  return [joined, ...notices.filter(isLocated)];
}

/** Returns whether a notice begins with a file and line, or with an option. */
function isLocated(notice: string): boolean {
  return /^(\S+:\d+|--[\w-]+): /.test(withFlags(notice));
}

const betweenSentences = /(?<=[.!?])\s+(?=[A-Z"`])/;

interface Waiting {
  readonly agentType: string | undefined;
  readonly option: string;
}

function waitingMessage(request: EventOf<"approval.requested">, { agentType, option }: Waiting): string {
  const list = `retinue approvals list${option}`;
  const { requestId, reason, always = [] } = request;
  const agent = agentType === undefined ? "" : ` from ${agentType}`;
  if (canonicalToolName(request.name) === "AskUserQuestion")
    return `The agent${agentType === undefined ? "" : ` ${agentType}`} asks: ${describeCall(request)} See the options in another terminal with: ${list}. Answer with: retinue approvals reply ${requestId} ANSWER${option}`;
  const answers = ["allow", "deny", ...(always.length > 0 ? ["always"] : [])].join("|");
  const { call, inputs } = approvalText(request);
  const cut = cutForMessage(call);
  // The message leaves out the id, so that no one answers a call without having seen all of it.
  if (cut !== undefined)
    return `${cut}${agent} is waiting for your answer. ${showExactly(reason)} See the whole call in another terminal: ${list}`;
  const isWhole = inputs.length === 0 || canonicalToolName(request.name) === "Bash";
  const rest = isWhole ? "" : ` See its other inputs with: ${list}.`;
  return `${call}${agent} is waiting for your answer. ${showExactly(reason)}${rest} Answer it in another terminal: retinue approvals answer ${requestId} ${answers}${option}`;
}

function deniedMessage(request: EventOf<"approval.requested">, onAsk: AskingWay): string {
  // A rule that can't be shown exactly can't be typed either.
  const rule = request.always?.find((each) => showExactly(each) === each);
  const quoted = rule?.replaceAll("'", "'\\''");
  const allow = quoted === undefined ? "To" : `To allow it, add --allowed-tools '${quoted}'; to`;
  const { call } = approvalText(request);
  const denied = `${cutForMessage(call) ?? call} was denied`;
  if (onAsk !== "deny")
    return `${denied}: it comes from a background agent, and background.approvals in your settings denies such calls. ${allow} be asked, remove that setting.`;
  return `${denied}: no approver is available. ${allow} be asked, add --on-ask wait.`;
}
