import type { Inbox } from "../../ports/index.ts";
import type { Policy, Rule } from "../../protocol/index.ts";
import { type ApprovalQueueOptions, nobodysAnswer, type SessionApprovals } from "./approval-queue.ts";

/** Costs nothing until somebody has to be asked. */
export function createApprovalQueue(options: ApprovalQueueOptions): SessionApprovals {
  let inbox: Inbox | undefined;
  let opening: Promise<Inbox> | undefined;
  const widened = createWidening(() => inbox?.rules() ?? []);
  const open = async (): Promise<Inbox> => {
    opening ??= options.openInbox();
    inbox = await opening;
    return inbox;
  };
  return {
    attended: options.attended,
    policyFor: widened,
    ask: async (question, asking) => {
      const attended = options.attended && !(question.background && options.deniesBackground);
      if (!attended && opening === undefined) {
        await asking.onOpen();
        return nobodysAnswer;
      }
      const { waitForAnswer } = await import("./wait-for-answer.ts");
      return waitForAnswer(question, { ...asking, ...options, attended, inbox: await open() });
    },
    load: async () => void (await open()),
    close: async () => {
      const left = (await opening)?.open() ?? [];
      for (const { requestId } of left) await inbox?.withdraw(requestId, "The session was closed.");
    },
  };
}

/** Policies are compiled once for each object, so the same rules must give the same object. */
function createWidening(rules: () => readonly Rule[]): (policy: Policy) => Policy {
  let known: readonly Rule[] = [];
  let made = new WeakMap<Policy, Policy>();
  return (policy) => {
    const now = rules();
    if (now.length === 0) return policy;
    if (now !== known) made = new WeakMap();
    known = now;
    const before = made.get(policy);
    if (before !== undefined) return before;
    const widened = { ...policy, rules: [...policy.rules, ...now] };
    made.set(policy, widened);
    return widened;
  };
}
