import { type Connection, ConnectionLost } from "./connection.ts";

/** Returns what is wrong with an answer; undefined if it can be used. */
type AnswerCheck = (method: string, answer: unknown) => string | undefined;

/**
 * A peer that can be reached through successive connections. Requests wait while there is no connection, and are sent
 * again if their connection ends, so all requests must be idempotent.
 */
export class Link {
  private connection: Connection | undefined;
  private ended: { readonly reason: unknown } | undefined;
  private readonly waiting = new Set<() => void>();
  private readonly problemOf: AnswerCheck;

  constructor(problemOf: AnswerCheck = () => undefined) {
    this.problemOf = problemOf;
  }

  /** Replaces the connection. The connection is undefined while the peer can't be reached. */
  use(connection: Connection | undefined): void {
    this.connection = connection;
    if (connection !== undefined) this.wake();
  }

  /** Rejects all requests, including later ones. */
  end(reason: unknown): void {
    this.ended ??= { reason };
    this.wake();
  }

  async request<Result>(method: string, parameters: object, signal?: AbortSignal): Promise<Result> {
    for (;;) {
      if (this.ended) throw this.ended.reason;
      const { connection } = this;
      if (connection === undefined || !connection.isOpen) {
        await new Promise<void>((resolve) => this.waiting.add(resolve));
        continue;
      }
      try {
        const answer = await connection.request(method, parameters, signal);
        const problem = this.problemOf(method, answer);
        if (problem !== undefined) throw new Error(problem);
        return answer as Result;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (this.connection === connection) this.connection = undefined;
      }
    }
  }

  notify(method: string, parameters: object): void {
    this.connection?.notify(method, parameters);
  }

  private wake(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const resolve of waiting) resolve();
  }
}
