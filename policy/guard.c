/*
 * The guarded files, in one table.  Where clients keep their servers is also
 * what `doorward init` has to know.  Pure functions over paths.
 */
#include <string.h>

#include "guard.h"

#define HOME(name, what)                                 \
	{                                                \
		name, sizeof(name) - 1, GUARD_HOME, what \
	}
#define ANY(name, what)                                      \
	{                                                    \
		name, sizeof(name) - 1, GUARD_ANYWHERE, what \
	}
#define ROOT(name, what)                                 \
	{                                                \
		name, sizeof(name) - 1, GUARD_ROOT, what \
	}

static const struct guard guards[] = {
    /* Claude Code and Claude Desktop */
    HOME(".claude.json", GUARD_CLIENT),
    HOME(".config/Claude/claude_desktop_config.json", GUARD_CLIENT),
    ANY(".mcp.json", GUARD_CLIENT),
    ANY(".claude/settings.json", GUARD_CLIENT),
    ANY(".claude/settings.local.json", GUARD_CLIENT),
    /* VS Code, and what runs in it */
    HOME(".config/Code/User/mcp.json", GUARD_CLIENT),
    HOME(".config/Code/User/settings.json", GUARD_CLIENT),
    ANY(".vscode/mcp.json", GUARD_CLIENT),
    ANY(".vscode/settings.json", GUARD_CLIENT),
    ANY("settings/cline_mcp_settings.json", GUARD_CLIENT),
    ANY("settings/mcp_settings.json", GUARD_CLIENT),
    ANY(".roo/mcp.json", GUARD_CLIENT),
    ANY(".kilocode/mcp.json", GUARD_CLIENT),
    /* Cursor, Zed, Windsurf */
    ANY(".cursor/mcp.json", GUARD_CLIENT),
    HOME(".config/zed/settings.json", GUARD_CLIENT),
    ANY(".zed/settings.json", GUARD_CLIENT),
    HOME(".codeium/windsurf/mcp_config.json", GUARD_CLIENT),
    /* Codex, Gemini, opencode, Continue, Goose, Amp, LibreChat, Copilot */
    ANY(".codex/config.toml", GUARD_CLIENT),
    ANY(".gemini/settings.json", GUARD_CLIENT),
    ANY("opencode.json", GUARD_CLIENT),
    ANY("opencode.jsonc", GUARD_CLIENT),
    HOME(".config/opencode/config.json", GUARD_CLIENT),
    HOME(".continue/config.yaml", GUARD_CLIENT),
    HOME(".continue/config.json", GUARD_CLIENT),
    ANY(".continue/mcpServers", GUARD_CLIENT),
    HOME(".config/goose/config.yaml", GUARD_CLIENT),
    HOME(".config/amp/settings.json", GUARD_CLIENT),
    ANY("librechat.yaml", GUARD_CLIENT),
    HOME(".copilot/mcp-config.json", GUARD_CLIENT),

    /* shells */
    HOME(".profile", GUARD_START),
    HOME(".bashrc", GUARD_START),
    HOME(".bash_profile", GUARD_START),
    HOME(".bash_login", GUARD_START),
    HOME(".bash_logout", GUARD_START),
    HOME(".bash_aliases", GUARD_START),
    HOME(".zshrc", GUARD_START),
    HOME(".zshenv", GUARD_START),
    HOME(".zprofile", GUARD_START),
    HOME(".zlogin", GUARD_START),
    HOME(".zlogout", GUARD_START),
    HOME(".kshrc", GUARD_START),
    HOME(".mkshrc", GUARD_START),
    HOME(".cshrc", GUARD_START),
    HOME(".tcshrc", GUARD_START),
    HOME(".login", GUARD_START),
    HOME(".logout", GUARD_START),
    HOME(".config/fish", GUARD_START),
    HOME(".config/nushell", GUARD_START),
    /* logging in */
    HOME(".ssh/authorized_keys", GUARD_START),
    HOME(".ssh/authorized_keys2", GUARD_START),
    HOME(".ssh/config", GUARD_START),
    HOME(".ssh/environment", GUARD_START),
    HOME(".ssh/rc", GUARD_START),
    HOME(".pam_environment", GUARD_START),
    HOME(".xinitrc", GUARD_START),
    HOME(".xprofile", GUARD_START),
    HOME(".xsession", GUARD_START),
    HOME(".xsessionrc", GUARD_START),
    HOME(".config/autostart", GUARD_START),
    HOME(".config/autostart-scripts", GUARD_START),
    HOME(".config/plasma-workspace", GUARD_START),
    HOME(".config/environment.d", GUARD_START),
    HOME(".config/systemd/user", GUARD_START),
    HOME(".local/share/systemd/user", GUARD_START),
    /* the machine's */
    ROOT("etc/profile", GUARD_START),
    ROOT("etc/profile.d", GUARD_START),
    ROOT("etc/bash.bashrc", GUARD_START),
    ROOT("etc/zsh", GUARD_START),
    ROOT("etc/fish", GUARD_START),
    ROOT("etc/environment", GUARD_START),
    ROOT("etc/xdg/autostart", GUARD_START),
    ROOT("etc/ld.so.preload", GUARD_START),
    ROOT("etc/rc.local", GUARD_START),
    ROOT("etc/init.d", GUARD_START),
    ROOT("etc/systemd", GUARD_START),
    ROOT("etc/crontab", GUARD_START),
    ROOT("etc/cron.d", GUARD_START),
    ROOT("etc/cron.hourly", GUARD_START),
    ROOT("etc/cron.daily", GUARD_START),
    ROOT("etc/cron.weekly", GUARD_START),
    ROOT("etc/cron.monthly", GUARD_START),
    ROOT("var/spool/cron", GUARD_START),
};

#define GUARD_COUNT (sizeof(guards) / sizeof(guards[0]))

const struct guard *
guard_next(const struct guard *last)
{
	if (last == NULL)
		return &guards[0];
	return last + 1 < guards + GUARD_COUNT ? last + 1 : NULL;
}

/* Cheap for what is not in the table: every step of every walk asks. */
static int
ends_with(const struct guard *g, const char *path, size_t len)
{
	return len > g->len && path[len - 1] == g->name[g->len - 1] &&
	       path[len - g->len - 1] == '/' &&
	       memcmp(path + len - g->len, g->name, g->len) == 0;
}

const struct guard *
guard_match(const struct guard *last, const char *path, size_t len,
	    size_t *root)
{
	const struct guard *g = last == NULL ? guards : last + 1;

	for (; g < guards + GUARD_COUNT; g++) {
		if (!ends_with(g, path, len))
			continue;
		*root = len - g->len - 1;
		if (g->where != GUARD_ROOT || *root == 0)
			return g;
	}
	return NULL;
}

/* Skips "NUMBER/", or one of two words for it.  0 if neither is there. */
static size_t
skip_process(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] >= '0' && p[n] <= '9')
		n++;
	if (n == 0 && len >= 4 && memcmp(p, "self", 4) == 0)
		n = 4;
	if (n == 0 && len >= 11 && memcmp(p, "thread-self", 11) == 0)
		n = 11;
	return n > 0 && n < len && p[n] == '/' ? n + 1 : 0;
}

int
guard_is_process(const char *path, size_t len)
{
	static const char *const names[] = {"root", "cwd",       "fd",
					    "mem",  "map_files", "environ"};
	static const char proc[] = "/proc/", task[] = "task/";
	size_t n, i;

	if (len < sizeof(proc) || memcmp(path, proc, sizeof(proc) - 1) != 0)
		return 0;
	path += sizeof(proc) - 1;
	len -= sizeof(proc) - 1;
	n = skip_process(path, len);
	if (n == 0)
		return 0;
	path += n;
	len -= n;
	if (len > sizeof(task) - 1 &&
	    memcmp(path, task, sizeof(task) - 1) == 0) {
		n = skip_process(path + sizeof(task) - 1,
				 len - (sizeof(task) - 1));
		if (n == 0)
			return 0;
		path += sizeof(task) - 1 + n;
		len -= sizeof(task) - 1 + n;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(path, names[i], len) == 0)
			return 1;
	return 0;
}
