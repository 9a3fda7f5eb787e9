import { isUtf8 } from "node:buffer";
import type { ApiServerOptions, RecordedRequest, Wire } from "../types.ts";
import { type ErrorAnswer, errorAnswer } from "../wire/error-answer.ts";
import { betasOf, type ThinkingLedger } from "./thinking.ts";
import { validateAnthropic } from "./validate-anthropic.ts";
import { validateGemini } from "./validate-gemini.ts";
import { validateOpenai } from "./validate-openai.ts";
import { validateResponses } from "./validate-responses.ts";

export type Refusal = { reason: string; answer: ErrorAnswer };

/** Checks what the provider checks: key, version header, JSON, fields, sequence of messages, model. */
export function validateRequest(
  request: RecordedRequest,
  { options, ledger }: { options: ApiServerOptions; ledger: ThinkingLedger },
): Refusal | undefined {
  const wire = request.wire as Wire;
  const refuse = (status: number, message: string): Refusal => ({
    reason: message,
    answer: errorAnswer(wire, status, { message }),
  });
  const key = keyProblem(request, options);
  if (key !== undefined) return refuse(wire === "gemini" ? 400 : 401, key);
  if (wire === "anthropic" && !request.headers["anthropic-version"]) {
    return refuse(400, "anthropic-version: header is required");
  }
  const json = jsonProblem(request);
  if (json !== undefined) return refuse(400, json);
  const betas = betasOf(request.headers["anthropic-beta"]);
  const validate: Record<Wire, (body: unknown) => string | undefined> = {
    anthropic: (body) =>
      validateAnthropic(body, { ledger, ...betas, version: String(request.headers["anthropic-version"]) }),
    openai: validateOpenai,
    responses: (body) => validateResponses(body, ledger),
    gemini: (body) => validateGemini(body, { model: request.model, seed: options.seed ?? 1 }),
  };
  const problem = validate[wire](request.body);
  if (problem !== undefined) return refuse(400, problem);
  if (options.models !== undefined && !options.models.includes(request.model)) {
    return refuse(404, unknownModel(request));
  }
  return undefined;
}

function unknownModel({ wire, model }: RecordedRequest): string {
  if (wire !== "gemini") return `model: ${model}`;
  const where = "is not found for API version v1beta, or is not supported for generateContent";
  return `models/${model} ${where}. Call ModelService.ListModels to see the list of available models.`;
}

function keyProblem(request: RecordedRequest, { apiKey, requireKey }: ApiServerOptions): string | undefined {
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const headers: Partial<Record<string, string>> = { anthropic: "x-api-key", gemini: "x-goog-api-key" };
  const header = request.headers[headers[request.wire] ?? ""];
  const key = (typeof header === "string" ? header : undefined) ?? bearer;
  if (!key)
    return requireKey === false && apiKey === undefined ? undefined : "x-api-key or authorization: Bearer is required";
  if (apiKey === undefined || key === apiKey) return undefined;
  return request.wire === "gemini" ? "API key not valid. Please pass a valid API key." : "invalid API key";
}

function jsonProblem(request: RecordedRequest): string | undefined {
  const { rawBody } = request;
  if (!String(request.headers["content-type"]).startsWith("application/json")) {
    return "content-type: should be application/json";
  }
  if (!isUtf8(rawBody)) return "The request body is not valid UTF-8";
  if (request.body === undefined) return "The request body is not valid JSON";
  if (!/\\u[dD][89a-fA-F]/.test(rawBody.toString("latin1"))) return undefined;
  return hasLoneSurrogate(request.body) ? "The request body is not valid JSON: lone surrogate in a string" : undefined;
}

/** Finds lone surrogates, which JSON.parse accepts and the provider rejects. */
function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => hasLoneSurrogate(key) || hasLoneSurrogate(inner));
}
