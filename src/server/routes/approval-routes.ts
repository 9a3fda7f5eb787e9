import * as z from "zod/v4";
import { invalidRule, userName } from "../../app/index.ts";
import { isRecord } from "../../lib/index.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../protocol/index.ts";
import { problem } from "../http/problem.ts";
import { type Route, route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { answer, approvalParameters, receipt, waitingApproval } from "./schemas.ts";

/** Routes that list and answer requests for approval. */
export function approvalRoutes({ catalog, control }: ServerContext): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/approval",
      scope: "read",
      summary: "Lists all sessions' requests that are waiting for an answer, oldest first.",
      response: { status: 200, schema: z.array(waitingApproval) },
      handle: () => catalog.approvals(),
    }),
    route({
      method: "POST",
      path: "/session/{id}/approval/{request}",
      scope: "approve",
      summary: "Answers a request for approval. Only the first answer is used.",
      parameters: approvalParameters,
      body: answer,
      response: { status: 200, schema: receipt },
      handle: ({ parameters: { id, request }, body }) => {
        const session = catalog.find(id);
        const asked = catalog.approvals(id).find(({ question }) => question.requestId === request);
        const given: ApprovalAnswer = { ...body, by: body.by ?? userName() };
        if (asked !== undefined) checkAnswer(asked.question, given);
        return control.answer(session, request, given);
      },
    }),
  ];
}

function checkAnswer({ questions }: ApprovalQuestion, given: ApprovalAnswer): void {
  const { answer: verb, inputJson, always, replies } = given;
  if (verb === "deny") return;
  if (questions !== undefined && replies?.length !== questions.length)
    throw problem("refused", `The agent asked ${questions.length} questions. Send one reply for each, in \`replies\`.`);
  if (inputJson !== undefined && !isJsonObject(inputJson))
    throw problem("refused", "`inputJson` must be a string that contains a JSON object.");
  const wrong = always && invalidRule(always.rule);
  if (wrong) throw problem("refused", `The rule in \`always\` is invalid: ${wrong}`);
}

function isJsonObject(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}
