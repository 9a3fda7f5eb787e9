import { createHmac } from "node:crypto";
import { asList, asObject, asText, isObject, type JsonObject } from "../json-values.ts";

/** Contents of a thought signature: who wrote it, and the thoughts that it encrypts in the real API. */
export type SignedThoughts = { model: string; thoughts: string };

/** A value that clients may send in place of a signature that they don't have. The API documents it for this purpose. */
export const SKIPPED_SIGNATURE = "skip_thought_signature_validator";

/** Returns whether a model signs its calls and texts, and demands the signatures of calls back. */
export function signsThoughts(model: string): boolean {
  return /^gemini-([3-9]|\d\d)/.test(model);
}

/** Signs a part, so that a later request shows whether it has the signature with which it was sent. */
export function signPart(part: JsonObject, { signed, seed }: { signed: SignedThoughts; seed: number }): string {
  const payload = Buffer.from(JSON.stringify(signed)).toString("base64url");
  return Buffer.from(`${payload}.${seal(payload, part, seed)}`).toString("base64");
}

/** Returns the contents of a part's signature; undefined if this server did not send it with this part. */
export function readSignedPart(part: JsonObject, seed: number): SignedThoughts | undefined {
  const [payload = "", mac] = decoded(part["thoughtSignature"]);
  return mac === seal(payload, part, seed) ? contentsOfPayload(payload) : undefined;
}

/** Returns the thoughts in a signature of this server, without checking which part it belongs to. */
export function thoughtsIn(signature: unknown): string | undefined {
  const [payload = "", mac] = decoded(signature);
  return mac === undefined ? undefined : contentsOfPayload(payload).thoughts;
}

/** Returns the contents of a request, with their roles. A single content need not be in a list. */
export function contentsOf(body: unknown): readonly JsonObject[] {
  const { contents } = asObject(body);
  return (isObject(contents) ? [contents] : asList(contents)).map(asObject);
}

function decoded(signature: unknown): readonly string[] {
  return Buffer.from(asText(signature), "base64").toString("utf8").split(".");
}

function contentsOfPayload(payload: string): SignedThoughts {
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
}

/** The id of a call is not part of what is signed, because the API treats it as optional. */
function seal(payload: string, { functionCall, text }: JsonObject, seed: number): string {
  const { name, args } = asObject(functionCall);
  const content = JSON.stringify(functionCall === undefined ? { text } : { name, args }, (_, value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [two]) => (one < two ? -1 : 1))) : value,
  );
  return createHmac("sha256", `thoughts ${seed}`).update(`${payload}.${content}`).digest("base64url");
}
