import type { ApprovalAnswer } from "../../protocol/index.ts";
import type { Concern } from "../approvals/ask-about-call.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { Caller } from "./delegation.ts";

/** Asks a person about a call. Undefined: nobody can be asked. */
type Ask = (caller: Caller, concern: Concern) => Promise<ApprovalAnswer | undefined>;

/** Counts agents before they begin; where those of one prompt are too many, somebody may want as many again. */
export class SpawnGate {
  private readonly ask: Ask;
  private asksForMore: Promise<boolean> | undefined;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  async enter(budget: Budget, caller: Caller): Promise<BudgetRefusal | undefined> {
    const refusal = budget.spawn();
    if (refusal?.limit !== "promptSpawns") return refusal;
    // Many calls of one answer are one question.
    this.asksForMore ??= this.askForMore(refusal, { budget, caller }).finally(() => {
      this.asksForMore = undefined;
    });
    return (await this.asksForMore) ? this.enter(budget, caller) : refusal;
  }

  private async askForMore(
    { message }: BudgetRefusal,
    { budget, caller }: { readonly budget: Budget; readonly caller: Caller },
  ): Promise<boolean> {
    const reason = `${message} Yes lets this prompt start as many again.`;
    const answer = await this.ask(caller, { kind: "call", about: "spawns", rule: "subagents.maxSpawns", reason });
    if (answer?.answer !== "allow") return false;
    budget.resetSpawns();
    return true;
  }
}
