import { commandPages } from "./command-pages.ts";

export type CommandName = keyof typeof commandPages;
export type HelpTopic = "retinue" | CommandName;

export function helpFor(topic: HelpTopic): string {
  return topic === "retinue" ? retinue : commandPages[topic];
}

const retinue = `Retinue works on the files of a directory with a model and tools.

Examples
  retinue -p "Map this repository"
  retinue -p "Fix the failing test" --permission-mode acceptEdits
  git diff | retinue -p "Review this change"
  retinue -p "Now the other one" --continue
  retinue -p "List the TODOs" --output-format json | jq -r .result

Usage
  retinue -p [options] [prompt]    Do what the prompt says, print the answer
  retinue sessions [command]       List, show, resume, export, delete sessions
  retinue agents [command]         List, show, check, lint or write agents
  retinue permissions [command]    List the rules that count here
  retinue approvals [command]      List or answer what waits for your word
  retinue plugins [command]        List, add, remove, enable or disable plugins
  retinue trust [command]          List, add or remove trusted directories
  retinue config show              Show the settings that count here
  retinue worktrees [command]      List or prune worktrees of agents
  retinue cache [command]          Say what prompt caches gave and lost
  retinue doctor                   Check what is installed and configured
  retinue help [command]           Show help

Run
  -p, --print                      Without questions, answer on standard output
  -C, --cwd DIRECTORY              Work there instead of here
      --max-turns N                Stop after N requests to the model (50)
      --max-cost USD               Stop before it costs more, agents included
      --max-tokens N               Stop before it takes more, agents included
      --max-spawns N               Start no more than N agents (100)
      --acceptance COMMAND         Check the work with it; a failure is exit 4
  -c, --continue                   Go on with this directory's latest session
  -r, --resume ID                  Go on with a session; its first letters do

Agent
      --agent NAME                 Work as this agent, e.g. Explore or Plan
      --agents JSON                Agents for this run, by name:
                                   {"x": {"description": "…", "prompt": "…"}}
      --coordinator                The main agent only gives work to others
      --fork on|off|auto           Whether agents may start forks, which know
                                   all they know (auto: not without a person)

Model
  -m, --model NAME                 A model, or small, medium, large
      --provider NAME              anthropic, openai, ollama, offline, or one
                                   of your settings
      --effort LEVEL               low, medium, high, xhigh or max
      --cache-lifetime 5m|1h       How long the provider keeps the conversation
                                   in its cache after each request (5m)

Permissions
      --permission-mode MODE       default, acceptEdits, dontAsk, plan or
                                   bypassPermissions
      --on-ask WHAT                What no rule allows: deny it, wait for
                                   "retinue approvals", or let a hook decide
      --allowed-tools RULES        Allow, e.g. "Edit, Bash(npm test)"
      --disallowed-tools RULES     Deny, e.g. "WebFetch, Read(.env)"
      --trust                      For this run, let the directory's own
                                   settings count; else they only restrict

Output
      --output-format FORMAT       text, json (the result as one object) or
                                   stream-json (every step, a line each)
      --include-partial-messages   In stream-json, words as they arrive
      --forward-subagent-text      In stream-json, what agents say too, not only
                                   what they do
      --verbose                    Tell of every tool call on standard error
  -q, --quiet                      Notices and errors only, no progress

Other
      --settings FILE              Settings instead of ~/.retinue/settings.json
  -V, --version                    Show the version
  -h, --help                       Show this

Environment
  ANTHROPIC_API_KEY, OPENAI_API_KEY, ANTHROPIC_BASE_URL, OPENAI_BASE_URL
  RETINUE_HOME    where settings and sessions are (~/.retinue)
  NO_COLOR        no colours      RETINUE_DEBUG=1    details of internal errors

Exit codes
  0 succeeded   1 failed   2 usage or configuration
  3 incomplete (a limit ended the run, or one of its agents)
  4 the work did not stand its --acceptance
  130 interrupted (Ctrl+C)   143, 129 ended by another signal
`;
