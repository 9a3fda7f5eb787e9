import { type ReactNode, useState } from "react";
import type { AgentView } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { SessionState } from "./session-store.ts";
import { UsageChart } from "./usage-chart.tsx";
import { Waterfall } from "./waterfall.tsx";

interface TimeRegionProps {
  readonly state: SessionState;
  /** Agents that the user searched for. */
  readonly agents: readonly AgentView[];
  readonly selected: AgentId;
}

/** When things happened, or what they cost. */
export function TimeRegion({ state: { view, spans, usage, info }, agents, selected }: TimeRegionProps): ReactNode {
  const [shown, setShown] = useState<"time" | "usage">("time");
  const tabs = (
    <div className="time-tabs" role="group" aria-label="What to show">
      <button type="button" aria-pressed={shown === "time"} onClick={() => setShown("time")}>
        Timeline
      </button>
      <button type="button" aria-pressed={shown === "usage"} onClick={() => setShown("usage")}>
        Usage
      </button>
    </div>
  );
  return shown === "time" ? (
    <Waterfall tabs={tabs} isRunning={view.running.length > 0} agents={agents} spans={spans} selected={selected} />
  ) : (
    <UsageChart tabs={tabs} view={view} usage={usage} maxCost={info?.maxCost} />
  );
}
