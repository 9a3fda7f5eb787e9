/** Help pages: `retinue` for the program itself, the others for its commands. */
export const helpPages = {
  retinue: `Retinue works on the files of a directory with a model and tools.

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
  -r, --resume ID                  Resume a session (the start or end of its id
                                   is enough)

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
      --verbose                    Show every tool call, and notices in full
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
`,
  sessions: `Sessions are kept so that you can look at them or go on with them.

Examples
  retinue sessions list
  retinue sessions show 01m7gf
  retinue sessions show 01m7gf/a7k3
  retinue sessions resume 01m7gf "And the tests?"

Usage
  retinue sessions list            Those of this directory, newest first
      --all                        Those of every directory
  -C, --cwd DIRECTORY              Those of another directory
      --json                       As JSON
  retinue sessions show ID         What was said and done, and its agents
  retinue sessions show ID/AGENT   What one of its agents said and did
      --agent ID                   The same, in another way
      --json                       The recorded lines as they are
  retinue sessions resume ID [prompt]
                                   Go on with it: retinue -p --resume ID, with
                                   the options of a run
  retinue sessions export ID       Every recorded line of the session and its
                                   agents, as JSON, with whose it is
  retinue sessions delete ID...    Remove for good
  -y, --yes                        Without asking

ID is the id of a session, or its start or its last 4 characters or more, if
only one session has it; the same applies to AGENT.
`,
  agents: `Agents are Markdown files that say what an agent does and what it may use.

Examples
  retinue agents list
  retinue agents check .claude/agents
  retinue agents new tester --description "Runs the tests. Use after changes."

Usage
  retinue agents list              Every agent there is for this directory
  retinue agents show NAME         One agent, with all that was read of it
      --trust                      Read this directory's own agents this once,
                                   although it is not trusted
  -C, --cwd DIRECTORY              Those of another directory
      --json                       As JSON
  retinue agents explain NAME CALL Say what would be decided about a call of
                                   this agent ("main": the session's own), and
                                   by which rule: 'Bash(git push)'
      --permission-mode MODE       As if the session worked in this mode
      --background                 As if nobody waited for the agent
  retinue agents check [PATH...]   Read every Markdown file there, and say what
                                   is wrong with it
      --jsonl                      As JSON, a line for each file
  retinue agents lint [WHAT...]    Say what makes agents unreliable, costly or
                                   unsafe: by name, file or directory, or all
      --json                       As JSON; --trust and --cwd as above
  retinue agents new NAME          Write a new file; asks for what is missing
      --description TEXT           What it does and when to use it
      --tools NAMES                Its tools; without this it inherits all
  -m, --model NAME                 Its model; without this that of the caller
      --project                    For this directory, which is the default
      --user                       For you, in every directory

"check" without a path reads the directories of this place and of yours. It ends
with 1 if a file that is meant to be an agent or a skill does not load, "lint"
if it finds more than notices.
`,
  plugins: `Plugins bring agents, skills, hooks and MCP servers in one directory.

Examples
  retinue plugins add ./my-plugin
  retinue plugins add https://example.com/team/plugin.git --yes
  retinue plugins list

Usage
  retinue plugins list             Those that were added, and what they bring
      --json                       As JSON
  retinue plugins add SOURCE       Copy one from a directory or a git address,
                                   show what it brings, ask to switch it on
  -y, --yes                        Switch it on without asking
  retinue plugins enable NAME      Approve it as it is now and switch it on
  -y, --yes                        Without asking
  retinue plugins disable NAME     Switch it off; its files stay
  retinue plugins remove NAME      Delete its files
  -y, --yes                        Without asking

Where nobody can be asked, an added plugin stays off until it is enabled with
--yes. A plugin whose files change after it was approved is off again.
`,
  trust: `Until you trust a directory, its own settings can only restrict.

Examples
  retinue trust add
  retinue trust remove ~/src/shop
  retinue -p "Run the tests" --trust

Usage
  retinue trust list               Directories you trust
      --json                       As JSON, with what was approved
  retinue trust add [DIRECTORY]    Trust this one or another; shows what counts
  retinue trust remove [DIRECTORY] No longer

Its settings are settings.json and settings.local.json in .retinue and .claude,
and permissions.jsonc in .retinue and .agents. Trust holds for this directory
and what is below it, not for other repositories there. What its files allow,
set or run is off again when it changes, until you add it once more.
`,
  config: `Shows the settings that count here, merged from every file.

Examples
  retinue config show
  retinue config show --origin
  retinue config show --json --origin

Usage
  retinue config show
      --origin                     With where each value comes from
      --json                       As JSON
  -C, --cwd DIRECTORY              As they count there
      --settings FILE              Settings instead of ~/.retinue/settings.json
      --trust                      As if the directory were trusted

Lowest to highest: yours (~/.claude and ~/.retinue/settings.json), those of the
directory, its settings.local.json, options, the machine's (/etc/retinue). Of
single values the highest counts, rules add up. Keys and passwords are hidden.
`,
  worktrees: `Agents with "isolation: worktree" work in git worktrees of their own.

Examples
  retinue worktrees list
  retinue worktrees prune --dry-run
  git -C ~/src/shop merge retinue/a7k3m9x2w4qpz

Usage
  retinue worktrees list           Those that are there, and what is in them
      --json                       As JSON
  retinue worktrees prune          Remove those with which nothing is lost
      --dry-run                    Only say what would be done
      --json                       As JSON

An unchanged worktree is removed with its branch when its agent is done. One
with changes or commits is kept until they are merged or you delete it; "prune"
says how. It leaves alone what is in use, and ends with 1 if it could not remove
one.
`,
  permissions: `Rules say what runs, what is asked about and what is denied.

Examples
  retinue permissions list --origin
  retinue agents explain Explore 'Read(~/.ssh/id_rsa)'

Usage
  retinue permissions list         The rules that count here, by their weight
      --origin                     With the file each stands in
      --json                       As JSON
  -C, --cwd DIRECTORY              As they count there
      --settings FILE              Settings instead of ~/.retinue/settings.json
      --trust                      As if the directory were trusted
  retinue permissions check        Decide calls that programs give, to test
                                   rules
      --jsonl                      Rows on standard input, a line of JSON each:
                                   {"id", "setup": {"mode", "allow", "ask",
                                   "deny"}, "input": {"tool", …}}
      --root DIRECTORY             Where files of rows are made; stands for /w

What a list denies nothing allows. Of the lines in permissions.jsonc the last
that matches counts. "retinue agents explain" shows the rule for one call.
`,
  approvals: `Calls that no rule allows, and questions of agents, wait for an answer.

Examples
  retinue -p "Release it" --on-ask wait
  retinue approvals list
  retinue approvals answer ask_3f21 allow
  retinue approvals answer ask_3f21 deny --message "Not on Fridays"
  retinue approvals reply ask_77c0 2 "1,3" "Use pnpm"

Usage
  retinue approvals list           What waits in this directory's sessions
      --all                        In those of every directory
      --session ID                 In one session
  -C, --cwd DIRECTORY              In those of another directory
      --json                       As JSON
  retinue approvals answer REQUEST allow|deny|always
      --message TEXT               With deny: why, told to the model
      --input JSON                 With allow: this input instead
      --pattern PATTERN            With always: not only this call, but what the
                                   pattern covers: 'git push *'
      --project                    With always: in later sessions of the
                                   directory too (.retinue/settings.local.json)
      --json                       As JSON
  retinue approvals reply REQUEST ANSWER...
                                   Answers the questions of an agent, in their
                                   order: the number or label of an option
                                   ("1,3": several), or your own words
      --json                       As JSON

REQUEST is the id of a request, or its start or end. The first answer counts.
What a rule denies is never asked.
`,
  doctor: `Checks what Retinue finds here and says how to repair what is missing.

Examples
  retinue doctor
  retinue doctor --provider ollama --model llama4
  retinue doctor --json

Usage
  retinue doctor [options]
      --provider NAME              Check this provider
  -m, --model NAME                 Check with this model
      --settings FILE              Settings instead of ~/.retinue/settings.json
      --json                       As JSON

Ends with 1 if something is broken, with 0 otherwise.
`,
  cache: `What providers' prompt caches gave to a session, what they lost, and why.

Examples
  retinue cache report
  retinue cache explain 01m7gf
  retinue cache explain 01m7gf/a7k3 --json

Usage
  retinue cache report [ID]        Tokens by kind, money spent, without a cache
                                   and at the ideal, of a session and its agents
  retinue cache explain [ID]       Each request: what was read, written, missed,
                                   why, and the first byte that differs
      --agent ID                   Only one of its agents, also as ID/AGENT
  -C, --cwd DIRECTORY              Without an ID: the latest session there
      --json                       As JSON

ID is a session's id or its first letters; without it the latest of this
directory. The ideal is a cache that forgets nothing and reads the longest
beginning that any earlier request of the session had.
`,
} as const;

export type HelpTopic = keyof typeof helpPages;
export type CommandName = Exclude<HelpTopic, "retinue">;

export function helpFor(topic: HelpTopic): string {
  return helpPages[topic];
}
