/**
 * Estimates the number of tokens without a tokenizer: 3.6 characters per token for ASCII (English, code), 2 for other
 * alphabets, 1 for CJK and symbols, 0.5 for emoji. A string and its UTF-8 bytes give the same result.
 */
export function estimateTokens(content: string | Uint8Array): number {
  const tokens = typeof content === "string" ? weighText(content) : weighBytes(content);
  return roundUp(tokens);
}

const asciiTokens = 1 / 3.6;
const twoByteTokens = 1 / 2;
const threeByteTokens = 1;
const fourByteTokens = 2;

function weighText(text: string): number {
  if (Buffer.byteLength(text) === text.length) return text.length * asciiTokens;
  let ascii = 0;
  let twoByte = 0;
  let threeByte = 0;
  let halves = 0;
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code < 0x80) ascii += 1;
    else if (code < 0x800) twoByte += 1;
    else if (code >= 0xd800 && code < 0xe000) halves += 1;
    else threeByte += 1;
  }
  return ascii * asciiTokens + twoByte * twoByteTokens + threeByte * threeByteTokens + (halves / 2) * fourByteTokens;
}

function weighBytes(bytes: Uint8Array): number {
  let ascii = 0;
  let twoByte = 0;
  let threeByte = 0;
  let fourByte = 0;
  for (const byte of bytes) {
    if (byte < 0x80) ascii += 1;
    else if (byte >= 0xf0) fourByte += 1;
    else if (byte >= 0xe0) threeByte += 1;
    else if (byte >= 0xc0) twoByte += 1;
  }
  return ascii * asciiTokens + twoByte * twoByteTokens + threeByte * threeByteTokens + fourByte * fourByteTokens;
}

export interface Calibration {
  /** Records the number of tokens that the provider counted for a request of this size. */
  observe(bytes: number, tokens: number): void;
  estimate(bytes: number): number;
  readonly bytesPerToken: number;
}

/** Learns the number of bytes per token from the provider's counts. Recent counts weigh more; outliers are clamped. */
export function createCalibration({ bytesPerToken = 3.6 }: { bytesPerToken?: number } = {}): Calibration {
  let totalTokens = priorTokens;
  let totalBytes = priorTokens * bytesPerToken;
  return {
    observe(bytes, tokens) {
      if (!(bytes > 0 && tokens > 0 && Number.isFinite(bytes) && Number.isFinite(tokens))) return;
      const ratio = Math.min(highestRatio, Math.max(lowestRatio, bytes / tokens));
      const weight = Math.min(tokens, heaviest);
      totalTokens = totalTokens * fading + weight;
      totalBytes = totalBytes * fading + weight * ratio;
    },
    estimate: (bytes) => roundUp((bytes * totalTokens) / totalBytes),
    get bytesPerToken() {
      return totalBytes / totalTokens;
    },
  };
}

const priorTokens = 500;
const fading = 0.7;
const heaviest = 10_000_000;
const lowestRatio = 0.5;
const highestRatio = 20;

/** Rounds up, but ignores the tiny excess over a whole number that results from adding fractions. */
function roundUp(tokens: number): number {
  return Math.max(0, Math.ceil(tokens - 1e-9));
}
