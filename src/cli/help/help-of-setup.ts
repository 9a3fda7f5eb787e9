// What they work with: settings, rules, plugins, what is installed.

export const plugins = `Plugins bring agents, skills, hooks and MCP servers in one directory.

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
`;

export const trust = `Until you trust a directory, its own settings can only restrict.

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
`;

export const permissions = `Rules say what runs, what is asked about and what is denied.

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
`;

export const config = `Shows the settings that count here, merged from every file.

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
`;

export const doctor = `Checks what Retinue finds here and says how to repair what is missing.

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
`;
