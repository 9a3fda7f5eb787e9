import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Scope } from "../../protocol/index.ts";

/** What the sender of a request may do. */
export interface Access {
  readonly scopes: ReadonlySet<Scope>;
  /** Whether the sender is a browser with the cookie that the link to the server sets. It may load pages. */
  readonly pages: boolean;
}

/** Creates a random secret of 256 bits that fits into URLs and cookies. */
export function createSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Tokens and the scopes of each. Looking a token up takes the same time for every text. */
export class Tokens {
  private readonly known: { readonly digest: Buffer; readonly scopes: ReadonlySet<Scope> }[] = [];

  add(token: string, scopes: readonly Scope[]): void {
    this.known.push({ digest: digestOf(token), scopes: new Set(scopes) });
  }

  find(token: string): ReadonlySet<Scope> | undefined {
    const digest = digestOf(token);
    let found: ReadonlySet<Scope> | undefined;
    for (const each of this.known) if (timingSafeEqual(each.digest, digest)) found = each.scopes;
    return found;
  }
}

/** The ticket in the link to the server, and the cookie that it is exchanged for. Each is valid for this start. */
export class PageTicket {
  readonly ticket = createSecret();
  private readonly cookie = createSecret();
  private isUsed = false;

  isTicket(text: string): boolean {
    return isSame(text, this.ticket);
  }

  isCookie(text: string): boolean {
    return isSame(text, this.cookie);
  }

  /** Returns the value of the cookie the first time, and undefined from then on. */
  redeem(): string | undefined {
    if (this.isUsed) return undefined;
    this.isUsed = true;
    return this.cookie;
  }
}

const MOST_FAILURES = 50;
const PERIOD_MS = 60_000;

/** Counts failed attempts to authenticate. Valid tokens are always accepted, so that nobody can lock the user out. */
export class FailedAttempts {
  private times: number[] = [];
  private readonly now: () => number;

  constructor(monotonic: () => number) {
    this.now = monotonic;
  }

  /** Records an attempt that failed. Returns whether there were too many in the last minute. */
  add(): boolean {
    const now = this.now();
    this.times = [...this.times.filter((time) => now - time < PERIOD_MS).slice(-MOST_FAILURES), now];
    return this.times.length > MOST_FAILURES;
  }
}

/** Takes the same time for every text. */
function isSame(text: string, secret: string): boolean {
  return timingSafeEqual(digestOf(text), digestOf(secret));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
