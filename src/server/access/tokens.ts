import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Scope } from "../../protocol/index.ts";

/** What the sender of a request may do. */
export interface Access {
  readonly scopes: ReadonlySet<Scope>;
  /**
   * Whether the sender is a browser with the cookie that the server's link sets. A browser with the cookie may load
   * pages.
   */
  readonly pages: boolean;
}

/** Creates a random 256-bit secret that can be used in URLs and cookies. */
export function createSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Tokens and their scopes. Lookups compare in constant time. */
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

/**
 * The ticket in the server's link, and the cookie that it is exchanged for. Both are valid until the server is stopped.
 */
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

  /** Returns the cookie's value the first time, and undefined after that. */
  redeem(): string | undefined {
    if (this.isUsed) return undefined;
    this.isUsed = true;
    return this.cookie;
  }
}

const MOST_FAILURES = 50;
const PERIOD_MS = 60_000;

/** Counts failed attempts to authenticate. Valid tokens are always accepted, so that no one can lock the user out. */
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

/** Compares in constant time. */
function isSame(text: string, secret: string): boolean {
  return timingSafeEqual(digestOf(text), digestOf(secret));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
