import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { AgentCatalog } from "../../client/index.ts";
import { type NewSession, type PermissionMode, permissionModes, type WorkerInfo } from "../../protocol/index.ts";
import { Choice, Field } from "../parts/fields.tsx";
import { SendButton } from "../parts/send-button.tsx";
import { useDraft } from "../state/draft.ts";
import { useOffline } from "../state/offline.ts";
import { goTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";

interface NewSessionFormProps {
  readonly workers: readonly WorkerInfo[];
  /** Suggested models. */
  readonly models: readonly string[];
}

/** Starts a session with a prompt, and optionally another agent, model, mode, budget or directory. */
export function NewSessionForm({ workers, models }: NewSessionFormProps): ReactNode {
  const { client } = useServer();
  const form = useRef<HTMLFormElement>(null);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const [prompt, setPrompt] = useDraft("new session");
  const [hasOptions, setHasOptions] = useState(false);
  const [isStarting, setIsStarting] = useState(false);
  const [failure, setError] = useState("");
  const offline = useOffline();
  const error = offline ?? failure;
  const [isChecked, setIsChecked] = useState(false);
  const problems = isChecked ? problemsIn(chosen) : {};
  const choose = (name: string) => (value: string) => setChosen((before) => ({ ...before, [name]: value }));
  const agents = useAgents(chosen["worker"], hasOptions);

  const start = async (): Promise<void> => {
    setIsStarting(true);
    setError("");
    try {
      const { id } = await client.sessions.create(newSession(prompt, chosen));
      setPrompt("");
      goTo({ page: "session", id });
    } catch (problem) {
      setError(asClientError(problem).detail);
      setIsStarting(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (prompt.trim() === "" || isStarting || offline !== undefined) return;
    setIsChecked(true);
    const [wrong] = Object.keys(problemsIn(chosen));
    if (wrong === undefined) void start();
    else form.current?.querySelector<HTMLElement>(`[name="${wrong}"]`)?.focus();
  };
  const directory = workers.find(({ name }) => name === chosen["worker"]) ?? workers[0];
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  return (
    <form ref={form} className="new-session" onSubmit={submit} aria-label="Start a session">
      <textarea
        aria-label="Prompt"
        placeholder="What should the agent do? Enter starts a session, Shift+Enter adds a line."
        rows={Math.min(8, Math.max(2, prompt.split("\n").length))}
        value={prompt}
        onChange={({ target }) => setPrompt(target.value)}
        onKeyDown={onKeyDown}
      />
      {hasOptions && (
        <div className="options">
          <Choice
            label="Directory"
            value={chosen["worker"] ?? directory?.name}
            onChoose={choose("worker")}
            hint={directory?.root}
          >
            {workers.map(({ name, state }) => (
              <option key={name} value={name} disabled={state === "lost"}>
                {state === "connected" ? name : `${name} (${state})`}
              </option>
            ))}
          </Choice>
          <Choice label="Agent" value={chosen["agent"]} onChoose={choose("agent")} first="Default">
            {agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </Choice>
          <Choice label="Mode" value={chosen["mode"]} onChoose={choose("mode")} first="From the settings">
            {permissionModes.map((mode) => (
              <option key={mode}>{mode}</option>
            ))}
          </Choice>
          <Field
            name="model"
            label="Model"
            value={chosen["model"]}
            onChoose={choose("model")}
            placeholder="From the settings"
            suggestions={models}
          />
          <Field
            name="maxCost"
            label="Budget in $"
            value={chosen["maxCost"]}
            onChoose={choose("maxCost")}
            placeholder="No limit"
            problem={problems["maxCost"]}
          />
          <Field
            name="maxTurns"
            label="Turns"
            value={chosen["maxTurns"]}
            onChoose={choose("maxTurns")}
            placeholder="Default"
            problem={problems["maxTurns"]}
          />
        </div>
      )}
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <div className="actions">
        <SendButton type="submit" className="primary" disabled={prompt.trim() === "" || isStarting}>
          {isStarting ? "Starting…" : "Start"}
        </SendButton>
        <button type="button" aria-expanded={hasOptions} onClick={() => setHasOptions(!hasOptions)}>
          {hasOptions ? "Fewer options" : "Options"}
        </button>
      </div>
    </form>
  );
}

/** Returns problems with the numbers, by field name. */
function problemsIn(chosen: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const text = (name: string): string => chosen[name]?.trim() ?? "";
  const problems: Record<string, string> = {};
  if (text("maxCost") !== "" && !(Number(text("maxCost")) > 0))
    problems["maxCost"] = "Budget must be a number, such as 1.50.";
  if (text("maxTurns") !== "" && !/^[1-9]\d{0,8}$/.test(text("maxTurns")))
    problems["maxTurns"] = "Turns must be a whole number, such as 20.";
  return problems;
}

function newSession(prompt: string, chosen: Readonly<Record<string, string>>): NewSession {
  const text = (name: string): string | undefined => chosen[name]?.trim() || undefined;
  const number = (name: string): number | undefined => (text(name) === undefined ? undefined : Number(text(name)));
  return {
    prompt,
    worker: text("worker"),
    agent: text("agent"),
    model: text("model"),
    permissionMode: text("mode") as PermissionMode | undefined,
    maxCost: number("maxCost"),
    maxTurns: number("maxTurns"),
  };
}

/** Returns a directory's agents. They are loaded when `isWanted` is true. */
function useAgents(worker: string | undefined, isWanted: boolean): AgentCatalog["agents"] {
  const { client } = useServer();
  const [agents, setAgents] = useState<AgentCatalog["agents"]>([]);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isCurrent = true;
    client.agents(worker || undefined).then(
      (catalog) => isCurrent && setAgents(catalog.agents),
      // The list is optional: without it, the default agent can still be started.
      () => isCurrent && setAgents([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, worker, isWanted]);
  return agents;
}
