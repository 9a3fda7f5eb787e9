import { type Connection, createConnection, type Exchange, type ExchangeListener, type Job } from "./connection.ts";
import type { Dial } from "./dial.ts";
import type { RequestBytes } from "./write-request.ts";

/** The connections to one address: kept for the next request, and never more than `most`; who finds none waits. */
export interface Pool {
  send(bytes: RequestBytes, listener: ExchangeListener): Exchange;
  /** Ends what nobody waits for; running requests end by themselves. */
  close(): void;
}

export function createPool({ dial, most }: { readonly dial: Dial; readonly most: number }): Pool {
  /** The one used last is taken first: it is the least likely to have been closed meanwhile. */
  const idle: Connection[] = [];
  const waiting = new Set<Job>();
  const open = new Set<Connection>();
  let isClosed = false;

  function begin(job: Job): void {
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isFresh()) {
        connection.begin(job);
        return;
      }
      connection.end();
    }
    if (open.size >= most) waiting.add(job);
    else openFor(job);
  }

  function openFor(job: Job): void {
    const connection = createConnection({ onFree, onEnd });
    open.add(connection);
    connection.begin(job);
    const dialed = dial(connection.read);
    if (dialed instanceof Promise) dialed.then(connection.use, connection.fail);
    else connection.use(dialed);
  }

  function onFree(connection: Connection): void {
    const next = takeWaiting();
    if (next !== undefined) connection.begin(next);
    else if (isClosed) connection.end();
    else idle.push(connection);
  }

  function onEnd(connection: Connection): void {
    open.delete(connection);
    const place = idle.indexOf(connection);
    if (place >= 0) idle.splice(place, 1);
    const next = takeWaiting();
    if (next !== undefined) openFor(next);
  }

  function takeWaiting(): Job | undefined {
    const [next] = waiting;
    if (next !== undefined) waiting.delete(next);
    return next;
  }

  return {
    send(bytes, listener) {
      const job: Job = { bytes, listener, connection: undefined };
      begin(job);
      return {
        drop() {
          waiting.delete(job);
          job.listener = undefined;
          job.connection?.drop(job);
        },
        letGo() {
          job.listener = undefined;
          job.connection?.letGo(job);
        },
      };
    },
    close() {
      isClosed = true;
      for (const connection of open) if (connection.isUnwanted()) connection.end();
    },
  };
}
