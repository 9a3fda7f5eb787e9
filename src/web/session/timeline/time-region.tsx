import type { ReactNode } from "react";
import type { AgentId } from "../../../protocol/index.ts";
import { createStore, useStore } from "../../state/store.ts";
import { showRegion } from "../places.ts";
import type { SessionState } from "../session-store.ts";
import type { GroupRow, TreeRow } from "../tree/tree-rows.ts";
import { UsageChart } from "./usage-chart.tsx";
import { Waterfall } from "./waterfall.tsx";

/** What the region shows. */
const timeView = createStore<"time" | "usage">("time");

/** Shows what each turn has cost. */
export function showUsage(): void {
  timeView.set("usage");
  showRegion("time");
}

interface TimeRegionProps {
  readonly state: SessionState;
  readonly rows: readonly TreeRow[];
  readonly onToggle: (group: GroupRow) => void;
  readonly selected: AgentId;
}

/** Shows when things happened, or what they cost. */
export function TimeRegion({ state, rows, onToggle, selected }: TimeRegionProps): ReactNode {
  const { view, spans, usage, info, link } = state;
  const shown = useStore(timeView);
  const tabs = (
    <div className="time-tabs" role="group" aria-label="What to show">
      <button type="button" aria-pressed={shown === "time"} onClick={() => timeView.set("time")}>
        Timeline
      </button>
      <button type="button" aria-pressed={shown === "usage"} onClick={() => timeView.set("usage")}>
        Usage
      </button>
    </div>
  );
  return shown === "time" ? (
    <Waterfall
      tabs={tabs}
      isRunning={view.running.length > 0}
      isConnected={link.state === "connected"}
      rows={rows}
      onToggle={onToggle}
      spans={spans}
      selected={selected}
      cwd={view.cwd}
    />
  ) : (
    <UsageChart tabs={tabs} view={view} usage={usage} maxCost={info?.maxCost} />
  );
}
