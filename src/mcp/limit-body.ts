/**
 * The same answer with a body that fails when one message in it is larger than `maxBytes`: the whole body, or in a
 * stream of events what stands between two empty lines.
 */
export function limitBody(
  response: Response,
  { maxBytes, onTooLarge }: { readonly maxBytes: number; readonly onTooLarge: () => Error },
): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const largest = isStream ? measureEvents() : measureAll();
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (largest(chunk) > maxBytes) controller.error(onTooLarge());
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

/** Takes the next chunk; gives the size of the largest message that has a part in it. */
type Measure = (chunk: Uint8Array) => number;

function measureAll(): Measure {
  let size = 0;
  return (chunk) => {
    size += chunk.length;
    return size;
  };
}

function measureEvents(): Measure {
  let size = 0;
  let lineIsEmpty = true;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      if (byte === CARRIAGE_RETURN) continue;
      if (byte === NEWLINE) {
        if (lineIsEmpty) size = 0;
        lineIsEmpty = true;
        continue;
      }
      lineIsEmpty = false;
      size += 1;
      if (size > largest) largest = size;
    }
    return largest;
  };
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
