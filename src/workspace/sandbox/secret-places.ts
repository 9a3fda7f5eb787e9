/** Paths with keys, tokens, passwords or cookies, relative to the home directory. Commands never see them. */
export const homeSecrets = [
  // Keys, and passwords of hosts.
  ...[".ssh", ".gnupg", ".netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".config/sops", ".config/age"],
  ...[".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli"],
  // Clouds and clusters.
  ...[
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/containers/auth.json",
    ".oci",
    ".aliyun",
    ".fly",
  ],
  ...[".bluemix", ".s3cfg", ".boto", ".mc", ".databrickscfg", ".snowflake", ".wrangler", ".config/.wrangler"],
  ...[".config/doctl", ".config/rclone", ".config/netlify", ".config/configstore", ".config/helm", ".terraform.d"],
  ...[".terraformrc", ".kaggle", ".huggingface", ".cache/huggingface/token", ".config/github-copilot"],
  // Package managers.
  ...[
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
  ],
  ...[".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json"],
  ...[
    ".config/composer/auth.json",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".nuget/NuGet",
  ],
  // Keyrings and password managers.
  ...[".local/share/keyrings", ".local/share/kwalletd", ".password-store", ".config/op", ".config/1Password"],
  ...[".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc"],
  // Browsers and messengers.
  ...[
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/vivaldi",
  ],
  ...[".config/microsoft-edge", ".config/opera", ".config/Slack", ".config/discord", ".config/Signal", "snap/firefox"],
  ...["snap/chromium", ".var/app"],
  // Other agents.
  ...[".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini"],
  // What people typed, which often includes passwords.
  ...[".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history"],
  ...[".psql_history", ".mysql_history", ".rediscli_history", ".lesshst"],
];

/** Paths of the system with passwords and keys, which root could read. */
export const systemSecrets = [
  ...["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers"],
  ...["/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/krb5.keytab", "/etc/wireguard"],
  ...["/etc/NetworkManager/system-connections", "/etc/letsencrypt", "/etc/kubernetes", "/etc/docker/key.json"],
  ...["/var/lib/docker", "/var/lib/kubelet", "/var/lib/systemd/credential.secret"],
];
