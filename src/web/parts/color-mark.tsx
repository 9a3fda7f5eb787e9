import type { ReactNode } from "react";
import { type AgentColor, agentColors } from "../../protocol/index.ts";

/** Shows the color of an agent's definition, if it has one. */
export function ColorMark({ color }: { readonly color: AgentColor | null | undefined }): ReactNode {
  const known = agentColors.find((each) => each === color);
  return known && <span className={`color-mark ${known}`} aria-hidden="true" />;
}
