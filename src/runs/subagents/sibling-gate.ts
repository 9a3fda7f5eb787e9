import { createDeferred, withTimeLimit } from "../../lib/index.ts";
import type { Model, ModelProgress, ModelRequest } from "../../ports/index.ts";
import type { ModelOutcome } from "../../protocol/index.ts";
import { orAbort } from "../or-abort.ts";

/** A first answer usually begins sooner; who waits longer loses more time than the cache gives. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Lets the first of several alike requests go alone until its answer begins: only then can the others read from the
 * provider's cache what it has written. Only the first request of each is held, and never for long.
 */
export class SiblingGate {
  private readonly opened = createDeferred<void>();
  private readonly longestWaitMs: number;
  private isLed = false;
  private isOpen = false;

  constructor(longestWaitMs = LONGEST_WAIT_MS) {
    this.longestWaitMs = longestWaitMs;
  }

  /** The model as one of the siblings has it. */
  guard(model: Model): Model {
    let isFirst = true;
    return {
      describe: () => model.describe(),
      call: (request, emit) => {
        const passes = !isFirst || this.isOpen;
        isFirst = false;
        if (passes) return model.call(request, emit);
        if (this.isLed) return this.follow(model, request, emit);
        this.isLed = true;
        return this.lead(model, request, emit);
      },
    };
  }

  private async lead(model: Model, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
    const outcome = await model.call(request, (progress) => {
      if (answers.has(progress.type)) this.open();
      emit(progress);
    });
    this.open();
    return outcome;
  }

  private async follow(model: Model, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
    emit({ type: "waiting" });
    await withTimeLimit(request.signal, this.longestWaitMs, (signal) => orAbort(this.opened.promise, signal));
    emit({ type: "sent" });
    return model.call(request, emit);
  }

  private open(): void {
    this.isOpen = true;
    this.opened.resolve();
  }
}

type Emit = (progress: ModelProgress) => void;

const answers: ReadonlySet<ModelProgress["type"]> = new Set(["text.delta", "thinking.delta", "call.delta"]);
