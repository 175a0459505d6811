/*
 * Calls itself and its files what no terminal, table or file format should be sent as it is.
 *   hostile_names SECONDS      in an empty folder, which is filled
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TURNS = 2000000,
	LEVELS = 15, /* of names of 250 bytes: less than PATH_MAX in all */
};

static const char *const names[] = {
	"\033]0;PWN\007",
	"line\nbreak",
	"\r\033[2Kgone",
	"\x9b;31m",
	"\xc2\x9b;31m",
	"\xe2\x80\xae txet",
	"a;b;c",
	"</script>",
	"\" onload=\"x",
	"=cmd()",
	"|--|",
	"::error::x",
	"%s%n%s%n",
	"\xff\xfe\x80",
	"'; rm -rf /",
	"[kernel.kallsyms]",
	"[vdso]",
	"//anon",
	"jit-1.dump",
	"x (deleted)",
};

static void copy_self(const char *path)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	close(in);
	close(out);
}

/* Not inlined: its frame is that of the file that is called so. */
__attribute__((noinline)) static void compute(const char *name)
{
	prctl(PR_SET_NAME, name);
	for (volatile int i = 0; i < TURNS; i++)
		;
}

static void become(const char *path, const char *seconds, int index)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", index);
	execl(path, path, seconds, number, (char *)NULL);
	perror("exec");
	exit(1);
}

static void go_deep(void)
{
	char name[251];
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < LEVELS; i++)
		if ((mkdir(name, 0700) && errno != EEXIST) || chdir(name))
			break;
}

/* Each name is a program that calls itself so, and becomes the next one. */
int main(int argc, char **argv)
{
	enum {
		COUNT = sizeof(names) / sizeof(*names)
	};
	int index = argc > 2 ? atoi(argv[2]) : 0;
	alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	compute(names[index % COUNT]);
	if (index % COUNT == COUNT / 2)
		go_deep();
	char path[300];
	snprintf(path, sizeof(path), "./%s", names[(index + 1) % COUNT]);
	for (char *at = path + 2; *at; at++)
		*at = *at == '/' ? ':' : *at;
	copy_self(path);
	become(path, argc > 1 ? argv[1] : "1",
		index + 1 > 60 ? 60 + (index + 1) % COUNT : index + 1);
}
