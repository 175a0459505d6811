/* Names as they are shown, kept beside chains: they come back to the functions they belong to. */
#include "report/name/symbol/shown_names.h"

#include <string.h>

#include "tests/unit/unit.h"

struct fixture {
	struct chain_map chains;
	struct shown_names names;
};

/* Functions that are shown otherwise and as they are, one without a name, one that occurs twice. */
static void fill(struct fixture *fixture)
{
	static const struct chain_frame inlined[] = {
		{.function = "_ZN1a1bEi", .file = "_ZN1a1bEi", .is_inlined = true},
		{.function = NULL, .is_inlined = true}, {.function = "main", .start = 0x100}};
	static const struct chain_frame alone = {.function = "_Z1cIcEvT_", .start = 0x200};
	static const struct chain three = {inlined, 3}, one = {&alone, 1}, none;
	*fixture = (struct fixture){.names = {.mode = DEMANGLE_FULL}};
	chain_map_add(&fixture->chains, 0x200, &one);
	chain_map_add(&fixture->chains, 0x300, &none);
	chain_map_add(&fixture->chains, 0x110, &three);
	chain_map_add(&fixture->chains, 0x120, &three);
}

static void deinit(struct fixture *fixture)
{
	shown_names_deinit(&fixture->names);
	chain_map_deinit(&fixture->chains);
}

static const char *shown_at(const struct fixture *fixture, uint64_t offset, uint32_t frame)
{
	struct chain chain = {0};
	CHECK(chain_map_find(&fixture->chains, offset, &chain));
	CHECK(frame < chain.count);
	return shown_names_get(&fixture->names, chain.frames[frame].number);
}

static void check_names(const struct fixture *fixture)
{
	CHECK_STR(shown_at(fixture, 0x200, 0), "c<char>(char)");
	CHECK_STR(shown_at(fixture, 0x110, 0), "a::b(int)");
	CHECK(!shown_at(fixture, 0x110, 1));
	CHECK_STR(shown_at(fixture, 0x110, 2), "main");
	CHECK(shown_at(fixture, 0x110, 0) == shown_at(fixture, 0x120, 0));
}

TEST(shown_names_are_made_once)
{
	struct fixture fixture;
	static const struct chain_frame late = {.function = "_Z4latev", .start = 0x400};
	fill(&fixture);
	CHECK(!shown_at(&fixture, 0x200, 0));
	CHECK_INT(shown_names_complete(&fixture.names, &fixture.chains), 3);
	check_names(&fixture);
	CHECK_INT(shown_names_complete(&fixture.names, &fixture.chains), 0);
	chain_map_add(&fixture.chains, 0x400, &(struct chain){&late, 1});
	CHECK_INT(shown_names_complete(&fixture.names, &fixture.chains), 1);
	CHECK_STR(shown_at(&fixture, 0x400, 0), "late()");
	check_names(&fixture);
	deinit(&fixture);
}

TEST(shown_names_in_another_mode)
{
	struct fixture fixture;
	fill(&fixture);
	fixture.names.mode = DEMANGLE_SIMPLIFIED;
	CHECK_INT(shown_names_complete(&fixture.names, &fixture.chains), 3);
	CHECK_STR(shown_at(&fixture, 0x200, 0), "c<...>");
	deinit(&fixture);
}

/* Both as a cache does it: the chains as a whole, then the names. */
static bool keep_and_take(struct fixture *from, size_t len, struct fixture *ret)
{
	struct bytes_buf chains = {0}, names = {0};
	chain_map_encode_all(&from->chains, &chains);
	shown_names_encode(&from->names, &from->chains, &names);
	CHECK(len <= names.len);
	*ret = (struct fixture){.names = {.mode = DEMANGLE_FULL}};
	CHECK(!chain_map_take(&ret->chains, chains.data, chains.len));
	return shown_names_take(&ret->names, &ret->chains, names.data, len ? len : names.len);
}

TEST(shown_names_come_back)
{
	struct fixture fixture, again;
	fill(&fixture);
	shown_names_complete(&fixture.names, &fixture.chains);
	CHECK(keep_and_take(&fixture, 0, &again));
	check_names(&again);
	CHECK_INT(shown_names_complete(&again.names, &again.chains), 0);
	deinit(&fixture);
	deinit(&again);
}

/* Cut anywhere, they are refused. */
TEST(shown_names_refuse_what_is_cut)
{
	struct fixture fixture, again;
	fill(&fixture);
	shown_names_complete(&fixture.names, &fixture.chains);
	struct bytes_buf names = {0};
	shown_names_encode(&fixture.names, &fixture.chains, &names);
	for (size_t len = 1; len < names.len; len++) {
		CHECK(!keep_and_take(&fixture, len, &again));
		deinit(&again);
	}
	bytes_buf_deinit(&names);
	deinit(&fixture);
}

TEST(shown_names_refuse_what_is_no_text)
{
	static const struct {
		size_t len;
		uint8_t bytes[8];
	} bad[] = {
		{3, {0, 1, 0}},                /* one without a NUL */
		{6, {2, 'a', 'b', 1, 0, 0}},   /* its NUL is something else */
		{7, {3, 'a', 0, 0, 1, 0, 1}},  /* two NULs */
		{8, {1, 0, 1, 0, 1, 0, 1, 0}}, /* more names than functions */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct fixture fixture;
		fill(&fixture);
		uint8_t *bytes = mem_alloc(bad[i].len);
		memcpy(bytes, bad[i].bytes, bad[i].len);
		CHECK(!shown_names_take(&fixture.names, &fixture.chains, bytes, bad[i].len));
		deinit(&fixture);
	}
}
