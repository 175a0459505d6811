#include "cmd/browser.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

enum {
	CANNOT_EXEC = 127,
	TROUBLE_MS = 1000, /* what fails does so in this time, mostly */
};

/* A command: words that are its own, and NULL. */
struct browser_command {
	VEC(char *) words;
};

static void browser_command_deinit(struct browser_command *command)
{
	vec_each(&command->words, word)
		mem_free(*word);
	vec_deinit(&command->words);
}

static void put_file_url(const char *path, struct str *out)
{
	str_puts(out, "file://");
	for (const unsigned char *c = (const unsigned char *)path; *c; c++)
		if (isalnum(*c) || strchr("/-_.~", *c))
			str_putc(out, (char)*c);
		else
			str_printf(out, "%%%02X", *c);
}

/* ---- whose ---- */

void browser_put_runtime_folder(const struct caller *caller, struct str *out)
{
	const char *named = caller->is_set ? NULL : getenv("XDG_RUNTIME_DIR");
	uid_t uid = caller->is_set ? caller->uid : geteuid();
	CLEANUP(str_deinit) struct str usual = {0};
	str_printf(&usual, "/run/user/%u", uid);
	const char *path = named && *named ? named : str_text(&usual);
	struct stat st;
	if (*path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid)
		str_puts(out, path);
}

static bool has_display(const struct caller *caller)
{
	const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	CLEANUP(str_deinit) struct str usual = {0};
	browser_put_runtime_folder(caller, &usual);
	str_puts(&usual, "/wayland-0");
	return (x11 && *x11) || (wayland && *wayland) || access(str_text(&usual), F_OK) == 0;
}

bool browser_is_here(const struct caller *caller)
{
	const char *named = getenv("BROWSER");
	return (named && *named) || has_display(caller);
}

/* In the new process: what the caller's own programs find. False: it is still root. */
static bool become_caller(const struct caller *caller)
{
	if (!caller->is_set)
		return true;
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;
	while (users && (user = fgetpwent(users)) && user->pw_uid != caller->uid)
		;
	CLEANUP(str_deinit) struct str folder = {0};
	browser_put_runtime_folder(caller, &folder);
	if (folder.len)
		setenv("XDG_RUNTIME_DIR", str_text(&folder), 1);
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	gid_t group = caller->gid;
	if (users)
		fclose(users);
	return setgroups(1, &group) == 0 && setresgid(group, group, group) == 0 &&
	       setresuid(caller->uid, caller->uid, caller->uid) == 0;
}

/* ---- a process ---- */

/* In the new process. */
static void exec_browser(const struct browser_command *command, const struct caller *caller)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && nothing >= 0; fd++)
		dup2(nothing, fd);
	setsid();
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (become_caller(caller))
		execvp(command->words.data[0], command->words.data);
}

/* Until it ends, TROUBLE_MS at most: a browser that goes on is one that works. */
static struct err *look_whether_it_works(const char *name, pid_t pid)
{
	CLEANUP_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	int status = 0;
	if (fd >= 0)
		poll(&ended, 1, TROUBLE_MS);
	if (waitpid(pid, &status, WNOHANG) <= 0 || (WIFEXITED(status) && !WEXITSTATUS(status)))
		return NULL;
	if (WIFSIGNALED(status))
		return err_new(ERR_UNSUPPORTED, "%s ended by signal %d", name, WTERMSIG(status));
	return err_new(ERR_UNSUPPORTED, "%s failed, with status %d", name, WEXITSTATUS(status));
}

/* *errnum tells why it could not be executed, else it is 0. */
static struct err *start_browser(
	const struct browser_command *command, const struct caller *caller, int *errnum)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(errno, "pipe2");
	CLEANUP_FD int from = ends[0];
	CLEANUP_FD int to = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(errno, "fork");
	if (!pid) {
		exec_browser(command, caller);
		int why = errno;
		ssize_t put = write(to, &why, sizeof(why));
		_exit(put == sizeof(why) ? CANNOT_EXEC : 1);
	}
	mem_close_fd(&to);
	int why = 0;
	*errnum = fd_read_fully(from, &why, sizeof(why)) == sizeof(why) ? why : 0;
	if (*errnum) {
		waitpid(pid, NULL, 0);
		return NULL;
	}
	return look_whether_it_works(command->words.data[0], pid);
}

/* ---- which ---- */

/* "NAME ARGUMENT..": %s in it stands for the URL, else that comes last. */
static void read_command(
	const char *text, size_t len, const char *url, struct browser_command *command)
{
	bool is_placed = false;
	for (size_t at = 0; at < len;) {
		size_t word_len = 0;
		while (at + word_len < len && text[at + word_len] != ' ')
			word_len++;
		CLEANUP(str_deinit) struct str word = {0};
		for (size_t i = 0; i < word_len; i++) {
			bool is_url = i + 1 < word_len && memcmp(text + at + i, "%s", 2) == 0;
			if (is_url)
				str_puts(&word, url);
			else
				str_putc(&word, text[at + i]);
			i += is_url;
			is_placed |= is_url;
		}
		if (word.len)
			vec_push(&command->words, str_steal(&word));
		at += word_len + 1;
	}
	if (!command->words.len)
		return;
	if (!is_placed)
		vec_push(&command->words, mem_strdup(url));
	vec_push(&command->words, NULL);
}

/* One of a list with colons; the first that can be executed is it. */
static struct err *open_by(const char *list, const char *url, const struct caller *caller,
	int *errnum, struct str *ret)
{
	for (size_t len; *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		CLEANUP(browser_command_deinit) struct browser_command command = {0};
		read_command(list, len, url, &command);
		if (!command.words.len)
			continue;
		try(start_browser(&command, caller, errnum));
		if (*errnum)
			continue;
		str_puts(ret, command.words.data[0]);
		return NULL;
	}
	return NULL;
}

struct err *browser_open(const char *path, const struct caller *caller, struct str *ret)
{
	const char *named = getenv("BROWSER");
	CLEANUP(str_deinit) struct str url = {0};
	put_file_url(path, &url);
	int errnum = 0;
	if (named)
		try(open_by(named, str_text(&url), caller, &errnum, ret));
	if (!ret->len && errnum)
		return err_new(ERR_UNSUPPORTED, "$BROWSER, \"%s\", cannot be run: %s", named,
			strerror(errnum));
	if (!ret->len && has_display(caller))
		try(open_by("xdg-open", str_text(&url), caller, &errnum, ret));
	if (!ret->len && errnum && errnum != ENOENT)
		return err_sys(errnum, "xdg-open");
	return NULL;
}
