#include "record/task/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"

static void target_run_child(char *const *argv, const struct target_signals *signals,
	bool lends_stdout, int release_fd, int result_fd)
{
	char go;
	if (fd_read(release_fd, &go, 1) != 1)
		_exit(125); /* the recorder failed or died: never run unprofiled */
	if (lends_stdout)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signal(SIGPIPE, signals->on_pipe);
	signal(SIGXFSZ, signals->on_file_size);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	execvp(argv[0], argv);
	int code = errno;
	while (write(result_fd, &code, sizeof(code)) < 0 && errno == EINTR)
		;
	_exit(code == ENOENT ? 127 : 126);
}

static void set_variables(const struct target_variables *variables)
{
	vec_each(variables, variable) {
		CLEANUP(str_deinit) struct str value = {0};
		const char *old = variable->separator ? getenv(variable->name) : NULL;
		str_printf(&value, "%s%s%s", variable->value,
			old && *old ? variable->separator : "", old ? old : "");
		setenv(variable->name, str_text(&value), 1);
	}
}

struct err *target_start(char *const *argv, const struct target_variables *variables,
	const struct target_signals *signals, bool lends_stdout, struct target *ret)
{
	int release[2], result[2];
	if (pipe2(release, O_CLOEXEC))
		return err_sys(errno, "pipe");
	if (pipe2(result, O_CLOEXEC)) {
		close(release[0]);
		close(release[1]);
		return err_sys(errno, "pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(release[1]);
		close(result[0]);
		set_variables(variables);
		target_run_child(argv, signals, lends_stdout, release[0], result[1]);
	}
	int fork_errno = errno;
	close(release[0]);
	close(result[1]);
	*ret = (struct target){
		.pid = pid, .release_fd = release[1], .result_fd = result[0], .exit_fd = -1};
	if (pid < 0) {
		target_deinit(ret);
		return err_sys(fork_errno, "fork");
	}
	ret->exit_fd = (int)syscall(SYS_pidfd_open, pid, 0); /* Linux 5.3; close-on-exec */
	if (ret->exit_fd < 0) {
		struct err *err = err_sys(errno, "pidfd_open");
		target_deinit(ret);
		return err;
	}
	return NULL;
}

struct err *target_release(struct target *target, int *exec_errno)
{
	if (write(target->release_fd, "g", 1) != 1)
		return err_sys(errno, "cannot release the command");
	mem_close_fd(&target->release_fd);
	int code = 0;
	ssize_t got = fd_read(target->result_fd, &code, sizeof(code));
	*exec_errno = got == sizeof(code) ? code : 0;
	mem_close_fd(&target->result_fd);
	return NULL;
}

bool target_poll_exit(struct target *target, int *status)
{
	return waitpid(target->pid, status, WNOHANG) == target->pid;
}

void target_deinit(struct target *target)
{
	mem_close_fd(&target->release_fd);
	mem_close_fd(&target->result_fd);
	mem_close_fd(&target->exit_fd);
}
