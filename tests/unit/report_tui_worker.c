/* Names that come step by step, and the threads that fetch them; run under -fsanitize=thread, too.
 */
#include <link.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/err.h"
#include "report/load/load.h"
#include "report/name/symbol/symbolizer.h"
#include "report/tui/quiet_thread.h"
#include "report/tui/worker.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	PATIENCE_MS = 300000, /* with a busy machine */
};

/* What is sampled: this program has symbols and debug information. */
__attribute__((noinline)) static void worker_anchor(void)
{
	__asm__ volatile("");
}

struct place {
	uint64_t address, offset;
};

static int to_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct place *place = context;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *it = &info->dlpi_phdr[i];
		uint64_t at = place->address - info->dlpi_addr - it->p_vaddr;
		if (it->p_type == PT_LOAD && at < it->p_filesz)
			place->offset = it->p_offset + at;
	}
	return 1; /* the first one is the program */
}

static uint32_t put_program(struct fixture *fixture)
{
	static char path[4096];
	struct stat st;
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(len > 0 && stat(path, &st) == 0);
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_FILE,
		.path = fixture_string(fixture, path),
		.size_bytes = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec,
	};
	return writer_object(fixture->writer, &object);
}

/* A recording with one sample in the program, ten in the kernel, and some in between. */
static int record(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = put_program(&fixture);
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t lost = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/nowhere/liblost.so");
	uint32_t process = fixture_process(&fixture, 10, 0);
	uint32_t thread = fixture_thread(&fixture, process, 10, "app");
	struct place place = {.address = (uint64_t)(uintptr_t)worker_anchor};
	dl_iterate_phdr(to_offset, &place);
	uint32_t anchor = fixture_frame(&fixture, program, place.offset, NULL);
	uint32_t sys = fixture_frame(&fixture, kernel, 0x100, "sys_read");
	uint32_t unknown = fixture_frame(&fixture, lost, 0x50, NULL);
	uint32_t user = FIXTURE_STACK(&fixture, unknown, anchor);
	fixture_samples(&fixture, thread, user, 0, 1);
	fixture_samples(&fixture, thread, user, FIXTURE_STACK(&fixture, sys), 10);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, unknown), 0, 5);
	struct layout_end end = {LAYOUT_END_COMMAND, fixture.time_ns};
	CHECK_OK(writer_finish(fixture.writer, &end));
	writer_destroy(fixture.writer);
	lseek(fixture.fd, 0, SEEK_SET);
	return fixture.fd;
}

static const char *name_of(const struct profile *profile, uint32_t frame)
{
	return profile->functions.data[profile->frames.data[frame].function].name;
}

/* ---- step by step ---- */

static bool ask_next(struct symbolizer *symbolizer, enum lookup_stage stage)
{
	bool waits;
	struct lookup_result result;
	struct pending *pending = symbolizer_next(symbolizer, &waits);
	CHECK(!waits);
	if (!pending)
		return false;
	CHECK(pending->next == stage);
	lookup_run(pending, &result);
	CHECK(result.stage == stage);
	pending_apply(pending, &result);
	return true;
}

TEST(names_come_step_by_step)
{
	enum {
		ANCHOR = 1,
		SYS,
		UNKNOWN
	};
	int fd = record();
	struct profile *profile;
	CHECK_OK(profile_load(fd, NULL, &profile));
	struct symbolize_options options = {.cache_folder = ""};
	struct symbolizer *symbolizer = symbolizer_create(profile, &options);
	CHECK_INT(symbolizer_count(symbolizer), 3);
	symbolizer_begin(symbolizer);
	symbolizer_rank(symbolizer);
	CHECK(strstr(name_of(profile, ANCHOR), "+0x"));
	CHECK_STR(name_of(profile, SYS), "sys_read");
	CHECK_STR(name_of(profile, UNKNOWN), "liblost.so+0x50");
	size_t nr_functions = profile->functions.len;
	/* liblost has more samples; symbols of all come before debug information of any. */
	CHECK(ask_next(symbolizer, LOOKUP_SYMBOLS));
	CHECK(strstr(name_of(profile, ANCHOR), "+0x"));
	CHECK(ask_next(symbolizer, LOOKUP_SYMBOLS));
	CHECK_STR(name_of(profile, ANCHOR), "worker_anchor");
	CHECK(!profile->frames.data[ANCHOR].line);
	while (ask_next(symbolizer, LOOKUP_FILES))
		;
	CHECK_STR(name_of(profile, ANCHOR), "worker_anchor");
	CHECK(profile->frames.data[ANCHOR].line);
	CHECK_STR(name_of(profile, SYS), "sys_read");
	CHECK_STR(name_of(profile, UNKNOWN), "liblost.so+0x50");
	CHECK_INT(profile->functions.len, nr_functions);
	symbolizer_destroy(symbolizer);
	profile_destroy(profile);
	close(fd);
}

/* ---- the worker ---- */

static struct worker *start(int fd)
{
	struct worker_options options = {.fd = fd, .symbolize = {.cache_folder = ""}};
	struct worker *worker = NULL;
	CHECK_OK(worker_create(&options, &worker));
	return worker;
}

/* However busy the machine is. */
static void end(struct worker *worker)
{
	struct timespec deadline = quiet_thread_deadline(PATIENCE_MS);
	CHECK(worker_destroy(worker, &deadline));
}

/* Takes what comes until there is a model of that wish, and with `is_named` no name is missing. */
static struct model *await(struct worker *worker, unsigned serial, bool is_named)
{
	struct model *model = NULL;
	for (;;) {
		struct worker_news news;
		struct pollfd pollfd = {.fd = worker_fd(worker), .events = POLLIN};
		if (poll(&pollfd, 1, PATIENCE_MS) <= 0) {
			CHECK(!"nothing came");
			return model;
		}
		worker_take(worker, &news);
		CHECK(!news.err);
		if (news.model) {
			model_release(model);
			model = news.model;
		}
		if (!model || model->wish_serial != serial)
			continue;
		const char *name = model_function(model, model_function_of(model, 1))->name;
		if (!is_named || strcmp(name, "worker_anchor") == 0)
			return model;
	}
}

TEST(names_reach_the_screen)
{
	int fd = record();
	struct worker *worker = start(fd);
	struct model *model = await(worker, 0, true);
	CHECK_INT(model->slice.whole.samples, 16);
	model_release(model);
	end(worker);
	close(fd);
}

TEST(the_newest_wish_is_fulfilled)
{
	int fd = record();
	struct worker *worker = start(fd);
	struct model_wish wish = {0};
	for (unsigned i = 0; i < 20; i++) {
		wish.serial++;
		wish.hides_inlined = i % 2;
		worker_wish(worker, &wish);
		if (i == 10)
			model_release(await(worker, wish.serial, false));
	}
	struct model *model = await(worker, wish.serial, true);
	CHECK(model->names->hides_inlined);
	model_release(model);
	end(worker);
	close(fd);
}

TEST(after_a_cancel_wishes_are_fulfilled)
{
	int fd = record();
	struct worker *worker = start(fd);
	struct model_wish wish = {.serial = 7};
	worker_cancel(worker);
	worker_wish(worker, &wish);
	model_release(await(worker, 7, false));
	worker_cancel(worker);
	wish.serial = 8;
	worker_wish(worker, &wish);
	model_release(await(worker, 8, false));
	end(worker);
	close(fd);
}

/* At once, while reading, naming, computing, and after that. */
TEST(it_can_be_left_at_any_time)
{
	int fd = record();
	for (long us = 0; us < 40000; us = us * 3 / 2 + 50) {
		lseek(fd, 0, SEEK_SET);
		struct worker *worker = start(fd);
		struct model_wish wish = {.serial = 1};
		nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
		worker_wish(worker, &wish);
		if (us % 2)
			worker_cancel(worker);
		nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
		end(worker);
	}
	close(fd);
}

TEST(a_recording_that_is_none_is_an_error)
{
	int fds[2];
	CHECK(pipe(fds) == 0);
	CHECK_INT(write(fds[1], "no recording", 12), 12);
	close(fds[1]);
	struct worker *worker = start(fds[0]);
	struct worker_news news;
	do {
		struct pollfd pollfd = {.fd = worker_fd(worker), .events = POLLIN};
		CHECK(poll(&pollfd, 1, PATIENCE_MS) == 1);
		worker_take(worker, &news);
	} while (!news.err && news.busy);
	CHECK(news.err);
	err_destroy(news.err);
	end(worker);
	close(fds[0]);
}
