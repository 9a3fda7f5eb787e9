import type { AddressedTexts, ToolOutput } from "../../ports/index.ts";
import { parseAddress } from "../../protocol/index.ts";
import { failed } from "./failed.ts";

export type OpenedText =
  | { readonly ok: true; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly ok: false; readonly output: ToolOutput };

/** Opens the text at an address, or explains why there is none. */
export async function openText(address: string, texts: AddressedTexts): Promise<OpenedText> {
  const parsed = parseAddress(address);
  if (parsed === undefined) return refuse(invalidAddress(address));
  const chunks = await texts.read(address);
  if (chunks !== undefined) return { ok: true, chunks };
  return refuse(
    parsed.kind === "result"
      ? `There is no saved result ${address} in this session. Repeat the call that produced it.`
      : `There is no subagent ${parsed.agentId} in this session, so it has no output. Check the id.`,
  );
}

function refuse(message: string): OpenedText {
  return { ok: false, output: failed(message) };
}

function invalidAddress(address: string): string {
  return `${JSON.stringify(address.slice(0, 100))} is not a valid address. Copy the address as you got it: retinue://result/ID or retinue://output/ID.`;
}
