/* Which functions -S means, and what is shown where it means none. */
#include <string.h>

#include "report/filter.h"
#include "report/text.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static bool wants(const char *shown, const char *mangled, const char *word)
{
	struct profile profile = {0};
	vec_push(&profile.objects, (struct profile_object){.name = "prog", .path = "/bin/prog"});
	struct profile_function function = {.name = shown, .system_name = mangled};
	vec_push(&profile.functions, function);
	struct filter filter = {.symbols = {&word, 1}};
	bool is_wanted = filter_wants_function(&profile, &filter, 0);
	vec_deinit(&profile.objects);
	vec_deinit(&profile.functions);
	return is_wanted;
}

TEST(a_symbol_is_meant_by_each_of_its_names)
{
	static const char mangled[] = "_ZN2ns3VecIiE4pushEi"; /* ns::Vec<int>::push(int) */
	static const char *const shown[] = {
		"ns::Vec<int>::push(int)", "ns::Vec<int>::push", "ns::Vec<...>::push", mangled};
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		CHECK(wants(shown[i], mangled, shown[i]));
		CHECK(wants(shown[i], mangled, mangled));
		CHECK(wants(shown[i], mangled, "ns::Vec<int>::push"));
		CHECK(wants(shown[i], mangled, "ns::Vec<int>::push(int)"));
		CHECK(!wants(shown[i], mangled, "ns::Vec<char>::push"));
		CHECK(!wants(shown[i], mangled, "push"));
	}
	CHECK(wants("f", "f", "f"));
	CHECK(!wants("f", "f", "g"));
}

static void check_tree(struct profile *profile, const struct filter *filter, bool is_empty)
{
	CLEANUP(str_deinit) struct str text = {0};
	filter_samples(profile, filter);
	text_put_tree(profile, false, &(struct text_options){.filter = filter}, &text);
	CHECK_INT(strstr(str_text(&text), "# nothing matches\n") != NULL, is_empty);
}

TEST(a_tree_of_nothing_says_so)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	const char *comms[] = {"app", "nope"};
	check_tree(profile, &(struct filter){.comms = {&comms[0], 1}}, false);
	check_tree(profile, &(struct filter){.comms = {&comms[1], 1}}, true);
	profile_destroy(profile);
}
