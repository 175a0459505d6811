/*
 * What a report takes to name addresses that an earlier one has named:
 *
 *   kept_chains RECORDING FILE CACHE <ADDRESSES
 *
 * Addresses are those of FILE, which may be a debug file, one a line, hexadecimal. Writes a
 * recording with one sample at each, and names them several times, each time in a process
 * of its own. CACHE is a folder; the first round fills it, the best of the others counts.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "format/file/writer.h"
#include "report/load/load.h"
#include "report/name/symbol/symbolizer.h"

enum {
	ROUNDS = 20,
};

static const uint64_t period_ns = 1000000;

static void check(const char *what, struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "kept_chains: %s: %s\n", what, err_message(err));
	exit(1);
}

static uint32_t put_text(struct writer *writer, const char *text)
{
	return writer_string(writer, text, strlen(text));
}

/* One segment over everything: a debug file's own ones do not tell offsets. */
static uint32_t put_object(struct writer *writer, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	struct stat st = {0};
	check(path, elf_file_open(fd, &file));
	if (fstat(fd, &st))
		check(path, err_sys(errno, "fstat"));
	struct layout_segment segment = {
		.filesz = INT64_MAX, .memsz = INT64_MAX, .flags = PF_R | PF_X};
	struct layout_object object = {.kind = LAYOUT_OBJECT_FILE,
		.path = put_text(writer, path),
		.size_bytes = (uint64_t)st.st_size,
		.inode = st.st_ino,
		.segments = &segment,
		.nr_segments = 1};
	size_t len;
	const uint8_t *build_id = elf_file_build_id(file, &len);
	if (build_id && len <= sizeof(object.build_id)) {
		memcpy(object.build_id, build_id, len);
		object.build_id_len = (uint32_t)len;
	}
	elf_file_destroy(file);
	return writer_object(writer, &object);
}

static void begin(struct writer *writer, uint32_t object)
{
	writer_clock(writer, &(struct layout_clock){period_ns, 1795000000000000000});
	writer_event(writer, &(struct layout_event){put_text(writer, "cpu-clock"),
				     (uint32_t)period_ns, 1000, put_text(writer, "ns"), 0});
	writer_process(
		writer, &(struct layout_process){.pid = 1000, .parent_pid = 1, .exe = object});
	writer_thread(writer, &(struct layout_thread){1, 1000, put_text(writer, "synthetic"), 0});
}

static void put_sample(struct writer *writer, uint32_t object, uint64_t address, uint64_t number)
{
	uint32_t frame = writer_frame(writer, &(struct layout_frame){object, address, 0});
	writer_sample(
		writer, &(struct layout_sample){
				.time_ns = (number + 1) * period_ns,
				.event = 1,
				.thread = 1,
				.user_stack = writer_node(writer, &(struct layout_node){0, frame}),
				.weight = 1,
			});
}

static struct err *write_file(void *context, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, context) == len ? NULL : err_sys(errno, "cannot write");
}

static uint64_t write_recording(const char *path, const char *object_path)
{
	char line[64];
	FILE *file = fopen(path, "wb");
	if (!file)
		check(path, err_sys(errno, "cannot write"));
	struct writer *writer = writer_create((struct writer_sink){write_file, file});
	uint32_t object = put_object(writer, object_path);
	uint64_t count = 0;
	begin(writer, object);
	while (fgets(line, sizeof(line), stdin))
		put_sample(writer, object, strtoull(line, NULL, 16), count++);
	enum layout_counter counters[] = {LAYOUT_COUNTER_TICKS, LAYOUT_COUNTER_SAMPLES};
	for (int i = 0; i < 2; i++)
		writer_counter(writer, &(struct layout_counter_value){counters[i], 0, count});
	struct layout_end end = {LAYOUT_END_DURATION, (count + 2) * period_ns};
	check("finish", writer_finish(writer, &end));
	writer_destroy(writer);
	if (fclose(file))
		check(path, err_sys(errno, "cannot write"));
	return count;
}

/* ---- naming them ---- */

struct figures {
	double wall_ms, cpu_ms;
	uint64_t known; /* frames */
};

static double now_ms(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct figures name_them(const char *recording, const struct symbolize_options *options)
{
	CLEANUP_FD int fd = open(recording, O_RDONLY | O_CLOEXEC);
	struct profile *profile;
	check(recording, profile_load(fd, NULL, &profile));
	struct figures figures = {0};
	double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
	symbolize(profile, options);
	figures.wall_ms = now_ms(CLOCK_MONOTONIC) - wall;
	figures.cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	vec_each(&profile->frames, frame)
		figures.known += profile->functions.data[frame->function].is_known;
	profile_destroy(profile);
	return figures;
}

static struct figures name_in_child(const char *recording, const struct symbolize_options *options)
{
	int ends[2];
	struct figures figures = {0};
	if (pipe(ends))
		check("pipe", err_sys(errno, "pipe"));
	pid_t child = fork();
	if (!child) {
		figures = name_them(recording, options);
		_exit(write(ends[1], &figures, sizeof(figures)) != sizeof(figures));
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &figures, sizeof(figures)) != sizeof(figures))
		check("child", err_new(ERR_IO, "it ended early"));
	waitpid(child, NULL, 0);
	close(ends[0]);
	return figures;
}

static void measure(const char *recording, const char *cache, const char *how,
	enum demangle_mode demangle, uint64_t count)
{
	struct symbolize_options options = {.cache_folder = cache, .demangle = demangle};
	struct figures best = {0};
	for (int round = 0; round <= ROUNDS; round++) {
		struct figures figures = name_in_child(recording, &options);
		if (round <= 1 || figures.wall_ms < best.wall_ms)
			best = figures;
	}
	printf("kept chains, %-16s %8llu addresses, %llu frames known: %.1f ms, %.1f ms of CPU\n",
		how, (unsigned long long)count, (unsigned long long)best.known, best.wall_ms,
		best.cpu_ms);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: kept_chains RECORDING FILE CACHE <ADDRESSES\n");
		return 2;
	}
	mem_keep_freed(); /* as a report does */
	uint64_t count = write_recording(argv[1], argv[2]);
	measure(argv[1], argv[3], "mangled", DEMANGLE_NONE, count);
	measure(argv[1], argv[3], "demangled", DEMANGLE_FULL, count);
	return 0;
}
