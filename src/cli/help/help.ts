const steering = `Steers a session's agents, even if the session is running in another terminal.

Examples
  retinue ps
  retinue message 7tdz "Leave the tests alone"
  retinue message 7tdz/reviewer "Look in src first"
  retinue stop 7tdz/agent-ancrxhakx56n7
  retinue resume 7tdz/reviewer "Continue with the other half"

Usage
  retinue message SESSION[/AGENT] TEXT
                                   Send a message. A running agent reads it
                                   before its next step. A subagent that has
                                   ended is resumed with it in the background
      --next                       Start a new run of the main agent with the
                                   message after the current one (not for
                                   subagents)
      --json                       Print JSON
  retinue stop SESSION             Stop all of a session's agents
  retinue stop SESSION/AGENT       Stop one agent. The agents that it started in
                                   the background continue
      --withdraw                   Also withdraw the prompts that no agent has
                                   received yet. Without it, they stay in the
                                   queue until the session is resumed
      --json                       Print JSON
  retinue resume SESSION[/AGENT] [TEXT]
                                   Continue an agent that ended early, or give
                                   it more to do. If the session is not running,
                                   it is opened here, and all options of
                                   "retinue -p" can be used
      --json                       Print JSON, as --output-format json does
  retinue background SESSION/AGENT
                                   Let an agent's caller continue without
                                   waiting for it. Also undoes "foreground"
      --json                       Print JSON
  retinue foreground SESSION/AGENT
                                   Make a background agent's parent wait for it
                                   before its next step
      --json                       Print JSON
  All of these commands:
      --server URL                 Steer a session on a server, whose token is
                                   read from RETINUE_TOKEN

SESSION is the id of a session, the start of the id, or its last 4 or more
characters. AGENT is main, or a subagent's id or name. A message to a
session that is not running is delivered when it is resumed.

If a session does not answer, Ctrl+C stops waiting, and the command stays
recorded. The exit code is 0 if a command was carried out or a message is
recorded, 1 if it was refused, 2 if the command line is invalid or no session or
agent matches, 3 if the session or the server has not answered yet, and 130
after Ctrl+C.
`;

/** Help pages: `retinue` for the program itself, the others for its commands. */
export const helpPages = {
  retinue: `Retinue lets a model and its subagents work on the files in a directory.

Examples
  retinue
  retinue -p "Map this repository"
  retinue -p "Fix the failing test" --permission-mode acceptEdits
  git diff | retinue -p "Review this change"
  retinue -p "Now the other one" --continue
  retinue -p "List the TODOs" --output-format json | jq -r .result

Usage
  retinue [options] [prompt]       Talk to the agents in the terminal
  retinue -p [options] [prompt]    Run a prompt and print the answer
  retinue sessions [command]       List, show, resume, export or delete sessions
  retinue ps                       List running and resumable agents
  retinue attach [ID]              Follow a session in another process
  retinue agents [command]         List, show, check, lint or create agents
  retinue permissions [command]    List the permission rules in force
  retinue message ID[/AGENT] TEXT  Send a message to an agent
  retinue stop ID[/AGENT]          Stop a session or one of its agents
  retinue resume ID[/AGENT] [TEXT]
                                   Continue a session or one of its agents
  retinue background ID/AGENT      Let an agent's caller continue without it
  retinue foreground ID/AGENT      Make an agent's caller wait for it again
  retinue approvals [command]      List or answer requests for approval
  retinue plugins [command]        List, add, remove, enable or disable plugins
  retinue trust [command]          List, add or remove trusted directories
  retinue schedule [command]       List, add or remove prompts that a server
                                   runs at set times
  retinue config show              Show the settings in force
  retinue worktrees [command]      List or prune agents' worktrees
  retinue cache [command]          Report what prompt caching saved
  retinue serve                    Serve sessions over HTTP and in browsers
  retinue worker --server URL      Offer a directory to sessions on a server
  retinue models [command]         List, show or test models
  retinue doctor                   Check what is installed and configured
  retinue help [command]           Show help

Run
  -p, --print                      Run without interaction and print the answer
  -C, --cwd DIRECTORY              Work in this directory
      --max-turns N                Stop after N requests to the model (50)
      --max-cost USD               Stop before the run, including its agents,
                                   costs more than USD
      --max-tokens N               Stop before the run, including its agents,
                                   uses more than N tokens
      --max-spawns N               Start no more than N agents (100)
      --acceptance COMMAND         Check the work with a command; if it fails,
                                   the exit code is 4
  -c, --continue                   Resume the latest session in the directory
  -r, --resume ID                  Resume a session, by its id, the start of the
                                   id, or its last 4 or more characters

Agent
      --agent NAME                 Run as this agent, such as Explore or Plan
      --agents JSON                Agents for this run, by name:
                                   {"x": {"description": "…", "prompt": "…"}}
      --coordinator                The main agent only delegates
      --fork on|off|auto           Whether agents can start forks that continue
                                   their conversation (auto: not with -p)

Model
  -m, --model NAME                 A model, or small, medium, large
      --provider NAME              anthropic, openai, gemini, ollama, offline,
                                   or one from your settings
      --effort LEVEL               low, medium, high, xhigh or max
      --cache-lifetime 5m|1h       How long the provider keeps the conversation
                                   in its cache after each request (5m)

Permissions
      --permission-mode MODE       default, acceptEdits, dontAsk, plan or
                                   bypassPermissions
      --on-ask ask|deny|wait|hook  Calls that need approval: ask (default on a
                                   terminal), deny them (default otherwise),
                                   wait for "retinue approvals", or let a hook
                                   decide
      --allowed-tools RULES        Allow calls, e.g. "Edit, Bash(npm test)"
      --disallowed-tools RULES     Deny calls, e.g. "WebFetch, Read(.env)"
      --trust                      Trust the directory for this run. Otherwise,
                                   its own settings can only add restrictions

Output
      --output-format FORMAT       text, json (one object with the result)
                                   or stream-json (one line for each step)
      --include-partial-messages   In stream-json, include parts of answers
      --forward-subagent-text      In stream-json, include subagents' text
      --verbose                    Show every tool call, and notices in full
  -q, --quiet                      Show notices and errors, but no progress

Terminal (without -p)
      --server URL                 Use a session on a server, whose token is
                                   read from RETINUE_TOKEN
      --plain                      Print plain sentences, for screen readers

Other
      --settings FILE              Use FILE instead of ~/.retinue/settings.json
  -V, --version                    Show the version
  -h, --help                       Show this help

Environment
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY and, to use another server,
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL
  RETINUE_HOME       directory for settings and sessions (~/.retinue)
  RETINUE_TOKEN      token for commands with --server
  NO_COLOR           print without colors
  RETINUE_DEBUG=1    print details of internal errors

Exit codes
  0 succeeded   1 failed   2 usage or configuration error
  3 incomplete (a limit ended the run, or one of its agents)
  4 the --acceptance check failed
  130 interrupted (Ctrl+C)   143, 129 ended by another signal
`,
  sessions: `Sessions are recorded so that you can read and resume them.

Examples
  retinue sessions list
  retinue sessions show t9k4xw
  retinue sessions show t9k4xw/a7k3
  retinue sessions resume t9k4xw "And the tests?"

Usage
  retinue sessions list            List the directory's sessions, newest first
      --all                        List the sessions in every directory
  -C, --cwd DIRECTORY              List the sessions in another directory
      --json                       Print JSON
      --server URL                 List the sessions on a server
  retinue sessions show ID         Show a session and its agents
  retinue sessions show ID/AGENT   Show one of its agents
      --agent AGENT                The same as ID/AGENT
      --json                       Print the recorded lines
      --server URL                 Show a session on a server
  retinue sessions resume ID [prompt]
                                   Resume a session: same as retinue -p
                                   --resume ID, with the same options
  retinue sessions export ID       Print all lines of the session and its
                                   agents as JSON, each with its agent
  retinue sessions delete ID...    Delete sessions permanently
  -y, --yes                        Do not ask for confirmation

ID is the id of a session, the start of the id, or its last 4 or more
characters, if only one session matches. AGENT is an agent's id in one of these
forms, with or without "agent-" before it, or the name that its parent gave it.
`,
  ps: `Lists the agents of running sessions, and agents that can be resumed.

Examples
  retinue ps
  retinue ps --all
  retinue ps --json

Usage
  retinue ps                       List the agents of this directory's sessions
      --all                        List the agents in every directory
  -C, --cwd DIRECTORY              List the agents in another directory
      --json                       Print JSON
      --server URL                 List the agents on a server, whose token is
                                   read from RETINUE_TOKEN

Agents that can be resumed are those whose last run did not succeed: it was
stopped, interrupted or ended by a limit or an error, or its process was lost.
Of the sessions that are not running, only the latest 20 are read.

SESSION is the end of the session's id and can be used wherever an id can.
AGENT is "main" for the main agent. COST is what the agent itself has cost,
without its subagents.
`,
  attach: `Shows what a session or an agent is doing, even in another process.

Examples
  retinue attach t9k4xw
  retinue attach t9k4xw/a7k3
  retinue attach t9k4xw --from start --json

Usage
  retinue attach ID                Show the last turn of a session's main agent,
                                   then what it does, until the session ends
  retinue attach ID/AGENT          Follow one agent, until its run ends
  retinue attach                   Follow the only session that is running
      --from start                 Show everything from the start
      --json                       Print the lines of the agent and its
                                   subagents as JSON: {"agentId", "seq",
                                   "event"}
      --server URL                 Follow a session on a server, whose token is
                                   read from RETINUE_TOKEN

Following changes nothing: Ctrl+C ends only this command. Requests for approval
are shown with the command that answers them. The exit code is 130 after Ctrl+C,
and otherwise 0, no matter how the session ends.

ID is the id of a session, the start of the id, or its last 4 or more
characters, if only one session matches. AGENT is an agent's id in one of these
forms, with or without "agent-" before it, or the name that its parent gave it.
`,
  agents: `Agents are Markdown files that define what an agent does and may use.

Examples
  retinue agents list
  retinue agents check .claude/agents
  retinue agents new tester --description "Runs the tests. Use after changes."

Usage
  retinue agents list              List the agents that can be used here
  retinue agents show NAME         Show one agent with all its fields
      --trust                      Include the directory's agents even if it is
                                   not trusted
  -C, --cwd DIRECTORY              Use another directory
      --json                       Print JSON
  retinue agents explain NAME CALL Show the decision about a call, such as
                                   'Bash(git push)', and the rule behind it. The
                                   NAME of the main agent is "main"
      --permission-mode MODE       Decide as if the session had this mode
      --background                 Decide as if the agent ran in the background
  retinue agents check [PATH...]   Report errors in agent and skill files
      --jsonl                      Print one line of JSON for each file
  retinue agents lint [WHAT...]    Report what makes agents unreliable, costly
                                   or unsafe. WHAT is a name, file or directory
      --json                       Print JSON; --trust and --cwd as above
  retinue agents new NAME          Create an agent; asks for missing values
      --description TEXT           What it does and when to use it
      --tools NAMES                Its tools; default: all of its parent's tools
  -m, --model NAME                 Its model; default: its parent's model
      --project                    Create it for this directory (default)
      --user                       Create it for all your directories

Without PATH, "check" reads this directory's definitions and your own. It exits
with 1 if an agent or a skill can't be loaded. "lint" exits with 1 if it has
findings other than notices.
`,
  plugins: `Plugins are directories with agents, skills, hooks and MCP servers.

Examples
  retinue plugins add ./my-plugin
  retinue plugins add https://example.com/team/plugin.git --yes
  retinue plugins list

Usage
  retinue plugins list             List plugins and what they contain
      --json                       Print JSON
  retinue plugins add SOURCE       Copy a plugin from a directory or git URL,
                                   show what it contains, and ask to enable it
  -y, --yes                        Enable it without asking
  retinue plugins enable NAME      Approve the current files and enable it
  -y, --yes                        Do not ask for confirmation
  retinue plugins disable NAME     Disable it, but keep its files
  retinue plugins remove NAME      Delete its files
  -y, --yes                        Do not ask for confirmation

Without a terminal to ask on, an added plugin stays disabled until you enable it
with --yes. If a plugin's files change after you approve them, it is disabled.
`,
  trust: `Until you trust a directory, its settings can only add restrictions.

Examples
  retinue trust add
  retinue trust remove ~/src/shop
  retinue -p "Run the tests" --trust

Usage
  retinue trust list               List the directories that you trust
      --json                       Print JSON, with what you approved
  retinue trust add [DIRECTORY]    Trust a directory (default: this one), and
                                   show the settings that take effect
  retinue trust remove [DIRECTORY] Stop trusting a directory

A directory's settings are settings.json and settings.local.json in .retinue and
.claude, and permissions.jsonc in .retinue and .agents. Trust applies to the
directory and everything below it, except other repositories. If the files are
changed later to allow, set or run something else, that part is ignored until
you add the directory again.
`,
  config: `Shows the settings in force, merged from all files.

Examples
  retinue config show
  retinue config show --origin
  retinue config show --json --origin

Usage
  retinue config show
      --origin                     Show which file each value comes from
      --json                       Print JSON
  -C, --cwd DIRECTORY              Use another directory
      --settings FILE              Use FILE instead of ~/.retinue/settings.json
      --trust                      Treat the directory as trusted

Precedence, lowest first: your settings.json in ~/.claude and ~/.retinue, the
directory's settings, its settings.local.json, options, and the machine's
settings (/etc/retinue). The value with the highest precedence wins; rules from
all files are combined. Keys and passwords are hidden.
`,
  worktrees: `Agents with "isolation: worktree" work in their own git worktrees.

Examples
  retinue worktrees list
  retinue worktrees prune --dry-run
  git -C ~/src/shop merge retinue/a7k3m9x2w4qpz

Usage
  retinue worktrees list           List worktrees and their state
      --json                       Print JSON
  retinue worktrees prune          Remove worktrees that have no changes
      --dry-run                    Only show what would be removed
      --json                       Print JSON

An unchanged worktree is removed with its branch when its agent ends. A worktree
with changes or commits is kept until they are merged or you delete it; "prune"
shows how to do that. "prune" skips worktrees that are in use, and exits with 1
if it can't remove a worktree.
`,
  permissions: `Rules decide which calls are allowed, need approval or are denied.

Examples
  retinue permissions list --origin
  retinue agents explain Explore 'Read(~/.ssh/id_rsa)'

Usage
  retinue permissions list         List the rules in force, strongest first
      --origin                     Show which file each rule comes from
      --json                       Print JSON
  -C, --cwd DIRECTORY              Use another directory
      --settings FILE              Use FILE instead of ~/.retinue/settings.json
      --trust                      Treat the directory as trusted
  retinue permissions check        Decide on calls from standard input, to test
                                   rules
      --jsonl                      Read one line of JSON for each call:
                                   {"id", "setup": {"mode", "allow", "ask",
                                   "deny"}, "input": {"tool", …}}
      --root DIRECTORY             Directory that replaces /w in the calls
      --sandbox on|off|auto        Whether to assume that commands run in a
                                   sandbox, where many need no approval; auto
                                   (default): if this machine has one

A deny rule overrides every other rule. In permissions.jsonc, the last matching
line wins. "retinue agents explain" shows the rule that decides one call.
`,
  approvals: `Answers agents' questions and requests for approval, from any terminal.

Examples
  retinue -p "Release it" --on-ask wait
  retinue approvals list
  retinue approvals answer ask_3f21 allow
  retinue approvals answer ask_3f21 deny --message "Not on Fridays"
  retinue approvals reply ask_77c0 2 "1,3" "Use pnpm"

Usage
  retinue approvals list           List requests in this directory's sessions
      --all                        List requests in all sessions
      --session ID                 List requests in one session
  -C, --cwd DIRECTORY              Use another directory
      --json                       Print JSON
  retinue approvals answer REQUEST allow|deny|always
      --message TEXT               With deny: the reason, for the model
      --input JSON                 With allow: run the call with this input
      --pattern PATTERN            With always: allow all calls that match, such
                                   as 'git push *'
      --project                    With always: also apply to later sessions in
                                   the directory (.retinue/settings.local.json)
      --json                       Print JSON
  retinue approvals reply REQUEST ANSWER...
                                   Answer an agent's questions in order, with
                                   the number or label of an option ("1,3" for
                                   several) or in your own words
      --json                       Print JSON
  All of these commands:
      --server URL                 List or answer the requests on a server

REQUEST is the id of a request, the start of the id, or its last 4 or more
characters. Only the first answer is used. Calls that a rule denies never wait
for an answer. To answer requests on a server, set RETINUE_TOKEN to the token in
the link that "retinue serve" printed.
`,
  message: steering,
  stop: steering,
  resume: steering,
  background: steering,
  foreground: steering,
  serve: `Serves the sessions in one or more directories over HTTP until you stop it.

Examples
  retinue serve
  retinue serve --project ~/src/shop --project ~/src/site
  retinue serve --host 192.168.1.5 --tls-cert cert.pem --tls-key key.pem

Usage
  retinue serve [options]
      --port N                     Listen on this port (7333); 0: any free port
      --host ADDRESS               Listen on this address (127.0.0.1). Addresses
                                   that other machines can reach need TLS
      --project DIRECTORY          Serve the sessions in this directory. Can be
                                   repeated; default: the current directory
      --allow-host NAME            Also accept this host name. Can be repeated
      --allow-origin ORIGIN        Also accept this site's requests in browsers.
                                   Can be repeated
      --tls-cert FILE              Certificate in PEM format
      --tls-key FILE               The certificate's key in PEM format
      --insecure                   Allow a network address without TLS
      --no-resume                  Do not resume the sessions that were working
                                   when the last server stopped
      --json                       Print the address, the link and the token as
                                   JSON

Every request needs a token. The link contains one that allows everything.
server.json in the state directory contains one for your other programs, with
which they can't approve calls. Workers use the one in worker-token.

Ctrl+C parks all sessions: they continue when the server is restarted. The
exit code is then 0; it is 2 if the server can't start.
`,
  worker: `Offers a directory to sessions on a server until you stop it.

Examples
  retinue worker --server http://127.0.0.1:7333 --token-file token.txt
  RETINUE_TOKEN=… retinue worker --server https://retinue.example.com

Usage
  retinue worker --server URL [options]
      --server URL                 Address of the server
      --name NAME                  The worker's name; default: the names of this
                                   machine and the directory
  -C, --cwd DIRECTORY              Offer this directory
      --token-file FILE            File with the token; default: RETINUE_TOKEN
      --ca FILE                    The server's certificate authority, in PEM
                                   format, unless it is publicly trusted
      --insecure                   Allow an unencrypted connection to another
                                   machine

Tools that use files or run commands run here, as you, with the rules and the
sandbox that apply to the session. If the connection is lost, the worker
connects again, and calls that are running continue. When the worker is stopped,
everything that it started is ended.

The exit code is 2 if the server refuses the token or the version, or if the
directory does not exist; 130 or 143 after a signal.
`,
  models: `Shows which models can be used, what they cost, and whether they work.

Examples
  retinue models
  retinue models show small
  retinue models test claude-haiku-5-5
  retinue models test qwen4-coder --provider local

Usage
  retinue models list              List the known models of all providers, and
                                   what your keys can reach
  retinue models show MODEL        Show a model's window, prices, cache,
                                   thinking, effort and other names
  retinue models test MODEL        Check with one request whether a model
                                   answers, streams, calls tools, sees images
                                   and uses the cache. If the first request is
                                   refused or shows too little, a few more are
                                   sent
  All of these commands:
      --provider NAME              Use this provider
      --settings FILE              Use FILE instead of ~/.retinue/settings.json
      --json                       Print JSON

MODEL is an id, an id after its provider (openai/gpt-6-sol), or another name,
such as small or opus.

The exit code of "list" is 1 if a provider that is configured can't be asked.
The exit code of "test" is 1 if agents can't work with the model. The exit code
is 2 if the model or the provider is unknown, or the key is missing or refused.
`,
  doctor: `Checks the installation and configuration, and shows how to fix problems.

Examples
  retinue doctor
  retinue doctor --provider ollama --model llama4
  retinue doctor --json

Usage
  retinue doctor [options]
      --provider NAME              Check this provider
  -m, --model NAME                 Check this model
      --settings FILE              Use FILE instead of ~/.retinue/settings.json
      --json                       Print JSON

✓ means fine, ! missing but optional, ✗ broken. The exit code is 1 if something
is broken.
`,
  schedule: `Runs prompts at set times. A server (retinue serve) starts them.

Examples
  retinue schedule add "every day 7:00" -p "Check the dependencies" --max-cost 1
  retinue schedule add "every monday 9:00" -p "Review last week" --agent auditor
  retinue schedule list
  retinue schedule remove s7tdz

Usage
  retinue schedule list            List the schedules, with the next time and
                                   the outcome of the last session
      --json                       Print JSON
  retinue schedule add TIMES -p PROMPT
                                   Add a schedule for this directory
  -C, --cwd DIRECTORY              Run in this directory
      --agent NAME                 Run as this agent
  -m, --model NAME                 A model, or small, medium, large
      --permission-mode MODE       default, acceptEdits, dontAsk, plan or
                                   bypassPermissions
      --max-turns N                Stop after N requests to the model (50)
      --max-cost USD               Stop before a session, including its agents,
                                   costs more than USD
      --max-tokens N               Stop before a session, including its agents,
                                   uses more than N tokens
      --time-zone NAME             Such as Europe/Berlin (this machine's zone)
      --json                       Print JSON
  retinue schedule run ID          Start it now, even if it is paused
  retinue schedule pause ID        Do not start it until it is resumed
  retinue schedule resume ID
  retinue schedule remove ID

TIMES are words such as "every day 7:00", "every weekday 9am", "every tuesday
and friday 18:30", "every 2 hours" or "every 15 minutes", or a cron expression
such as "0 7 * * 1-5". Each time, the server starts a new session in the
directory. Calls that need approval wait for "retinue approvals". If no server
was running, a missed session starts with the next server, up to a day late.
`,
  cache: `Shows what prompt caching saved in a session, what was missed, and why.

Examples
  retinue cache report
  retinue cache explain t9k4xw
  retinue cache explain t9k4xw/a7k3 --json

Usage
  retinue cache report [ID]        Show tokens and cost of a session and its
                                   agents: actual, without a cache, and ideal
  retinue cache explain [ID]       Show for each request what was read, written
                                   and missed, and the first byte that differs
      --agent AGENT                Show one agent in the session, like ID/AGENT
  -C, --cwd DIRECTORY              Without ID: use the latest session there
      --json                       Print JSON

ID is the id of a session, the start of the id, or its last 4 or more
characters; default: the latest session in this directory. An ideal cache never
expires, and each request reads the longest prefix that it shares with an
earlier request in the session.
`,
} as const;

export type HelpTopic = keyof typeof helpPages;
export type CommandName = Exclude<HelpTopic, "retinue">;

export function helpFor(topic: HelpTopic): string {
  return helpPages[topic];
}
