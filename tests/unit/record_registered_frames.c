/*
 * What processes gave to libgcc: this program lays out what libgcc keeps, and reads its own memory
 * as the recorder's worker does. libgcc itself is in tests/e2e/registered.sh.
 */
#include "record/generated/registered_frames.h"

#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	CODE = 0x7f0000001000,
};

/* struct object of GCC 12. */
struct frames_object {
	uint64_t pc_begin, tbase, dbase;
	const void *frames;
	uint64_t flags;
	const struct frames_object *next;
};

/* One common entry, one function of 0x40 bytes, whose CFA is sp + 64 from its fourth byte on. */
static void write_frames(uint8_t to[64], uint64_t code)
{
#if defined(__aarch64__)
	static const uint8_t common[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 30, 0x0c, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0};
#else
	static const uint8_t common[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
#endif
	static const uint8_t rules[] = {0x44, 0x0e, 0x40, 0};
	uint64_t words[] = {code, 0x40};
	memset(to, 0, 64);
	memcpy(to, common, sizeof(common));
	to[24] = 24;
	to[28] = 28;
	memcpy(to + 32, words, sizeof(words));
	memcpy(to + 48, rules, sizeof(rules));
}

static struct registered_request request_of(const void *data, size_t len)
{
	return (struct registered_request){.kind = REGISTERED_LIST,
		.pid = (uint32_t)getpid(),
		.registry = REGISTRY_FRAMES,
		.descriptor = (uintptr_t)data,
		.more = (uint32_t)len};
}

static int cfa_of_first(struct registered_request *request, const struct registered_list *list)
{
	struct registered_image image = {0};
	request->entry = list->entries.data[0];
	if (!registered_frames_image(NULL, request, &image))
		return 0;
	const struct unwind_rule *rule = registered_image_rule(&image, CODE + 4);
	int offset = rule ? rule->cfa_offset : -1;
	registered_image_deinit(&image);
	return offset;
}

TEST(registered_frames_of_a_list)
{
	static _Alignas(8) uint8_t frames[2][64];
	write_frames(frames[0], CODE);
	write_frames(frames[1], CODE + 0x1000);
	struct frames_object second = {UINT64_MAX, 0, 0, frames[1], 0x7f8, NULL};
	struct frames_object first = {UINT64_MAX, 0, 0, frames[0], 0x7f8, &second};
	const void *data[3] = {NULL, &first, (void *)8};
	struct registered_request request = request_of(data, sizeof(data));
	struct registered_list list = {0};
	CHECK(registered_frames_list(&request, &list));
	CHECK(!list.is_same && !list.is_cut);
	CHECK_INT(list.entries.len, 2);
	CHECK_INT(cfa_of_first(&request, &list), 0x40);
	write_frames(frames[0], CODE + 0x2000); /* it is another one now */
	CHECK_INT(cfa_of_first(&request, &list), 0);
	vec_deinit(&list.entries);
}

/* A list that goes in a circle, and what is no list. */
TEST(registered_frames_that_lie)
{
	static _Alignas(8) uint8_t frames[64];
	write_frames(frames, CODE);
	struct frames_object circle = {UINT64_MAX, 0, 0, frames, 0x7f8, NULL};
	circle.next = &circle;
	uint64_t node[32] = {0, 1};
	node[3] = (uintptr_t)node; /* an inner node that is its own child */
	const void *data[] = {node, &circle, frames, (void *)~7ULL};
	struct registered_request request = request_of(data, sizeof(data));
	struct registered_list list = {0};
	CHECK(registered_frames_list(&request, &list));
	CHECK_INT(list.entries.len, 1);
	vec_deinit(&list.entries);
	list = (struct registered_list){0};
	request.descriptor = 8;
	CHECK(!registered_frames_list(&request, &list));
}

/* As libgcc 13 and later keep it, each object under two addresses. */
TEST(registered_frames_of_a_tree)
{
	static _Alignas(8) uint8_t frames[64];
	write_frames(frames, CODE);
	struct frames_object object = {UINT64_MAX, 0, 0, frames, 0x7f8, NULL};
	uint64_t leaf[2 + 30] = {0, 1ULL << 32 | 2, CODE, 0x40, (uintptr_t)&object,
		(uintptr_t)frames, 1, (uintptr_t)&object};
	uint64_t root[2 + 30] = {0, 1, UINT64_MAX, (uintptr_t)leaf};
	const void *data[] = {root};
	struct registered_request request = request_of(data, sizeof(data));
	struct registered_list list = {0};
	CHECK(registered_frames_list(&request, &list));
	CHECK_INT(list.entries.len, 1);
	CHECK_INT(cfa_of_first(&request, &list), 0x40);
	request.known = list.head;
	vec_deinit(&list.entries);
	list = (struct registered_list){0};
	CHECK(registered_frames_list(&request, &list));
	CHECK(list.is_same);
	vec_deinit(&list.entries);
}
