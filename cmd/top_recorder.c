#include "cmd/top_recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/input.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/ring_folder.h"
#include "format/base/str.h"
#include "format/base/vec.h"

#define FOLDER_PREFIX "ebprof-top."
#define MESSAGES      "messages"
#define RING          "ring"

enum {
	LOOK_AGAIN_US = 50000,
	STOP_NS = 3, /* seconds until it is killed */
};

struct top_recorder {
	pid_t pid;
	atomic_bool is_over;
	char *folder; /* ours alone: the ring, and what the recorder says */
	char *ring;
};

/* ---- the folder ---- */

/* Names are those of a ring's files, which is flat. */
static void remove_files(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

static void remove_folder(const char *path)
{
	CLEANUP(str_deinit) struct str ring = {0};
	str_printf(&ring, "%s/" RING, path);
	remove_files(str_text(&ring));
	remove_files(path);
}

/* Of one that was killed, they would take memory until the next start of the machine. */
static void remove_orphans(const char *place)
{
	DIR *folder = opendir(place);
	struct dirent *entry;
	struct stat st;
	while (folder && (entry = readdir(folder))) {
		CLEANUP(str_deinit) struct str path = {0};
		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0)
			continue;
		pid_t pid = (pid_t)strtol(entry->d_name + strlen(FOLDER_PREFIX), NULL, 10);
		bool is_ours =
			fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode) && st.st_uid == geteuid();
		str_printf(&path, "%s/%s", place, entry->d_name);
		if (is_ours && pid > 0 && kill(pid, 0) && errno == ESRCH)
			remove_folder(str_text(&path));
	}
	if (folder)
		closedir(folder);
}

/* In memory, where that can be had. */
static struct err *make_top_folder(struct top_recorder *recorder)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	int errnum = ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct str path = {0};
		remove_orphans(places[i]);
		str_printf(&path, "%s/" FOLDER_PREFIX "%d.XXXXXX", places[i], (int)getpid());
		if (mkdtemp(path.data)) {
			recorder->folder = str_steal(&path);
			struct str ring = {0};
			str_printf(&ring, "%s/" RING, recorder->folder);
			recorder->ring = str_steal(&ring);
			return NULL;
		}
		errnum = errno;
		str_deinit(&path);
	}
	return err_sys(errnum, "cannot create a folder in /dev/shm or /tmp");
}

/* ---- the process ---- */

struct record_words {
	const char **data;
	size_t len, cap;
};

/* Its own output would be drawn over; that of a command goes nowhere, which the manual says. */
static void exec_recorder(const char *folder, const char *const *words)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/" MESSAGES, folder);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int messages = open(str_text(&path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(messages, 2);
	setpgid(0, 0); /* Ctrl-C is a key of the screen */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", (char *const *)words);
	_exit(1);
}

struct err *top_recorder_start(
	const struct top_recorder_options *options, struct top_recorder **ret)
{
	struct top_recorder *recorder = mem_zalloc(sizeof(*recorder));
	struct err *err = make_top_folder(recorder);
	if (err) {
		mem_free(recorder);
		return err;
	}
	const char *const first[] = {"ebprof", "record", "-q", "--ring", recorder->ring, "--keep",
		options->keep, "--switch", options->switch_};
	struct record_words words = {0};
	vec_append(&words, first, sizeof(first) / sizeof(*first));
	for (char *const *word = options->words; *word; word++)
		vec_push(&words, *word);
	vec_push(&words, NULL);
	fflush(NULL);
	recorder->pid = fork();
	if (!recorder->pid)
		exec_recorder(recorder->folder, words.data);
	if (recorder->pid > 0)
		setpgid(recorder->pid, recorder->pid); /* as it does itself, if later */
	vec_deinit(&words);
	if (recorder->pid < 0) {
		err = err_sys(errno, "fork");
		top_recorder_stop(recorder);
		return err;
	}
	*ret = recorder;
	return NULL;
}

/* With its group, in which a command is that it has started: as a terminal ends what runs in it. */
static void end_process(struct top_recorder *recorder)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)STOP_NS * NS_PER_S;
	if (recorder->pid <= 0 || atomic_load(&recorder->is_over))
		return;
	kill(-recorder->pid, SIGTERM);
	while (clock_now_ns() < until_ns) {
		if (waitpid(recorder->pid, NULL, WNOHANG) == recorder->pid)
			return;
		usleep(LOOK_AGAIN_US / 5);
	}
	kill(recorder->pid, SIGKILL);
	waitpid(recorder->pid, NULL, 0);
}

void top_recorder_end(struct top_recorder *recorder)
{
	end_process(recorder);
	remove_folder(recorder->folder);
}

void top_recorder_stop(struct top_recorder *recorder)
{
	if (!recorder)
		return;
	top_recorder_end(recorder);
	mem_free(recorder->folder);
	mem_free(recorder->ring);
	mem_free(recorder);
}

/* Two threads look: only the kernel knows whose turn it is, and the other sees what came of it. */
bool top_recorder_is_over(struct top_recorder *recorder)
{
	if (!atomic_load(&recorder->is_over) &&
		waitpid(recorder->pid, NULL, WNOHANG) == recorder->pid)
		atomic_store(&recorder->is_over, true);
	return atomic_load(&recorder->is_over);
}

/* ---- its recording ---- */

/* The last thing that it said, without its own name. */
static struct err *why_it_ended(const struct top_recorder *recorder)
{
	char text[1024];
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/" MESSAGES, recorder->folder);
	CLEANUP_FD int fd = open(str_text(&path), O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : fd_read_fully(fd, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	static const char own[] = "ebprof: ";
	const char *message = text;
	if (strncmp(message, own, strlen(own)) == 0)
		message += strlen(own);
	return err_new(ERR_UNAVAILABLE, "%s",
		*message ? message : "the recorder ended before there was anything to show");
}

/* A recording with its first chunk: the clock, which all times need. */
static bool has_files(const struct top_recorder *recorder)
{
	CLEANUP_FD int folder = open(recorder->ring, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ring_files files = {0};
	if (folder < 0)
		return false;
	struct err *err = ring_folder_list(folder, recorder->ring, &files);
	bool has_any = !err && files.len && files.data[0].bytes;
	err_destroy(err);
	ring_files_deinit(&files);
	return has_any;
}

struct err *top_recorder_open(struct top_recorder *recorder, int *ret)
{
	while (!has_files(recorder)) {
		if (top_recorder_is_over(recorder) && !has_files(recorder))
			return why_it_ended(recorder);
		usleep(LOOK_AGAIN_US);
	}
	struct input input = {.fd = -1};
	struct ring_option option = {.folder = recorder->ring};
	try(input_open_ring(&option, &input));
	*ret = steal_fd(input.fd);
	input_deinit(&input);
	return NULL;
}
