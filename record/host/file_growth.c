#include "record/host/file_growth.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/clock.h"

void file_growth_deinit(struct file_growth *growth)
{
	vec_deinit(&growth->steps);
	growth->tail_len = 0;
}

static struct file_growth_step *newest_of(const struct file_growth *growth)
{
	return growth->steps.len ? &growth->steps.data[growth->steps.len - 1] : NULL;
}

/* Every other step goes: what one of them added then belongs to the next, in a longer window. */
static void thin_out(struct file_growth *growth)
{
	size_t left = 0;
	for (size_t i = 1; i < growth->steps.len; i += 2)
		growth->steps.data[left++] = growth->steps.data[i];
	growth->steps.len = left;
}

bool file_growth_note(
	struct file_growth *growth, uint64_t bytes, uint64_t before_ns, uint64_t after_ns)
{
	struct file_growth_step *newest = newest_of(growth);
	if (newest && bytes < newest->bytes) {
		growth->steps.len = 0;
		newest = NULL;
	}
	if (newest && bytes == newest->bytes) {
		newest->last_ns = before_ns;
		return false;
	}
	if (growth->steps.len == FILE_GROWTH_MAX_STEPS)
		thin_out(growth);
	vec_push(&growth->steps, (struct file_growth_step){bytes, after_ns, before_ns});
	return true;
}

static size_t read_tail(int fd, uint64_t end, uint8_t tail[FILE_GROWTH_TAIL_BYTES])
{
	size_t len = end < FILE_GROWTH_TAIL_BYTES ? (size_t)end : FILE_GROWTH_TAIL_BYTES;
	ssize_t got = pread(fd, tail, len, (off_t)(end - len));
	return got < 0 ? 0 : (size_t)got;
}

static bool has_same_tail(const struct file_growth *growth, int fd, uint64_t end)
{
	uint8_t tail[FILE_GROWTH_TAIL_BYTES];
	return read_tail(fd, end, tail) == growth->tail_len &&
	       memcmp(tail, growth->tail, growth->tail_len) == 0;
}

bool file_growth_look(struct file_growth *growth, int fd)
{
	struct stat st = {0};
	uint64_t before_ns = clock_now_ns();
	if (fd >= 0 && fstat(fd, &st))
		return false;
	uint64_t after_ns = clock_now_ns(), bytes = (uint64_t)st.st_size;
	const struct file_growth_step *newest = newest_of(growth);
	bool is_longer = !newest || bytes > newest->bytes;
	if (newest && is_longer && !has_same_tail(growth, fd, newest->bytes))
		growth->steps.len = 0;
	bool has_changed = file_growth_note(growth, bytes, before_ns, after_ns);
	if (has_changed)
		growth->tail_len = fd < 0 ? 0 : read_tail(fd, bytes, growth->tail);
	return has_changed;
}

size_t file_growth_step_of(const struct file_growth *growth, uint64_t end)
{
	return bisect(growth->steps.len, i, growth->steps.data[i].bytes < end);
}

struct file_growth_window file_growth_window_of(
	const struct file_growth *growth, size_t step, bool is_delayed)
{
	const struct file_growth_step *steps = growth->steps.data;
	size_t before = 1 + is_delayed;
	return (struct file_growth_window){
		.from_ns = step >= before ? steps[step - before].last_ns : 0,
		.until_ns = step < growth->steps.len ? steps[step].first_ns : UINT64_MAX,
	};
}
