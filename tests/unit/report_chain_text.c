#include "report/name/chain_text.h"

#include "tests/unit/unit.h"

static void put_link(const void *context, size_t index, size_t columns, struct str *out)
{
	(void)columns;
	const char *const *names = context;
	str_puts(out, names[index]);
}

static size_t bytes_of_link(const void *context, const char *text, size_t len)
{
	(void)context;
	(void)text;
	return len;
}

static void check_chain(size_t count, size_t columns, const char *want)
{
	static const char *const names[] = {"_start", "begin", "call", "main"};
	struct chain_text chain = {put_link, bytes_of_link, names};
	CLEANUP(str_deinit) struct str out = {0};
	chain_text_put(&chain, count, columns, &out);
	CHECK_STR(str_text(&out), want);
}

TEST(chains_name_their_ends_where_there_is_no_room)
{
	check_chain(4, 40, "_start > begin > call > main");
	check_chain(4, 28, "_start > begin > call > main");
	check_chain(4, 27, "_start > 2 more > main");
	check_chain(2, 5, "_start > begin");
	check_chain(1, 3, "_start");
}
