import { stripControls } from "../../lib/index.ts";
import type { Problem } from "../../protocol/index.ts";

/** An error that is reported to the client with an HTTP status. */
export class HttpProblem extends Error {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(problem: Problem, headers: Readonly<Record<string, string>> = {}) {
    super(problem.detail);
    this.problem = problem;
    this.headers = headers;
  }
}

const statuses = {
  invalid_request: 400,
  invalid_cursor: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  unknown_session: 404,
  unknown_agent: 404,
  unknown_request: 404,
  unknown_result: 404,
  unknown_worker: 404,
  wrong_method: 405,
  too_slow: 408,
  conflict: 409,
  session_in_use: 409,
  already_answered: 409,
  body_too_large: 413,
  not_json: 415,
  misdirected: 421,
  refused: 422,
  too_many_attempts: 429,
  headers_too_large: 431,
  internal_error: 500,
  too_many_clients: 503,
  stopping: 503,
  unavailable: 503,
  worker_lost: 503,
  no_answer: 504,
  disk_full: 507,
} as const;

type ProblemCode = keyof typeof statuses;

/**
 * Creates an error for a client. `detail` says in one or two sentences what happened and what to do. It may contain
 * text from clients and workers, whose control characters must not reach other terminals.
 */
export function problem(
  code: ProblemCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): HttpProblem {
  return new HttpProblem({ status: statuses[code], code, detail: stripControls(detail) }, headers);
}
