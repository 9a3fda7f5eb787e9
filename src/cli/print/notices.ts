import type { OnAsk } from "../../app/index.ts";
import { type EventOf, NOBODY, type RunUpdate } from "../../protocol/index.ts";
import { describeCall } from "../describe-call.ts";

export interface ApprovalTeller {
  see(update: RunUpdate): void;
}

/** Tells a person which calls wait for them, or were denied because nobody is asked; the same one once. */
export function createApprovalTeller(onAsk: OnAsk, tell: (sentence: string) => void): ApprovalTeller {
  const asked = new Map<string, EventOf<"approval.requested">>();
  const told = new Set<string>();
  const tellOnce = (sentence: string): void => {
    if (told.has(sentence)) return;
    told.add(sentence);
    tell(sentence);
  };
  return {
    see: (update) => {
      const isAgents = update.type === "subagent.event";
      const event = isAgents ? update.event : update;
      if (event.type === "approval.requested") {
        asked.set(event.requestId, event);
        if (onAsk === "wait") tellOnce(waitingWords(event, isAgents ? update.agentType : undefined));
      }
      if (event.type !== "approval.answered" || event.by !== NOBODY || onAsk !== "deny") return;
      const request = asked.get(event.requestId);
      if (request !== undefined) tellOnce(deniedWords(request));
    },
  };
}

function waitingWords(request: EventOf<"approval.requested">, agentType: string | undefined): string {
  const { requestId, reason, always = [] } = request;
  const whose = agentType === undefined ? "" : ` of ${agentType}`;
  const answers = ["allow", "deny", ...(always.length > 0 ? ["always"] : [])].join("|");
  return `${wordsFor(request)}${whose} waits for your answer. ${reason} Answer it in another terminal: retinue approvals answer ${requestId} ${answers}`;
}

function deniedWords(request: EventOf<"approval.requested">): string {
  const [rule] = request.always ?? [];
  const quoted = rule?.replaceAll("'", "'\\''");
  const allow = quoted === undefined ? "Be" : `Allow it with --allowed-tools '${quoted}', or be`;
  return `${wordsFor(request)} was denied, since nobody is asked. ${allow} asked with --on-ask wait.`;
}

function wordsFor({ name, inputJson }: EventOf<"approval.requested">): string {
  return `${name} ${describeCall(inputJson)}`.trim();
}
