/* What names become where there is little room. */
#include "report/name/short_names.h"

#include <string.h>

#include "tests/unit/unit.h"

static bool put_short_name(void *context, const char *name)
{
	str_printf(context, "%s|", name);
	return false;
}

static const struct {
	const char *object, *name, *want;
} cases[] = {
	{"", "main", "main|"},
	{"", "std::list<int>::size() const",
		"std::list<int>::size() const|std::list<int>::size|std::list<...>::size|"
		"list<...>::size|size|"},
	{"", "void pool::sort<int>(int)",
		"void pool::sort<int>(int)|pool::sort<int>|pool::sort<...>|sort<...>|sort|"},
	{"", "net/http.(*conn).serve", "net/http.(*conn).serve|http.(*conn).serve|"},
	{"", "vtable for a::b", "vtable for a::b|"},
	{"", "[unknown]", "[unknown]|"},
	{"[java]", "java.util.HashMap.get",
		"java.util.HashMap.get|util.HashMap.get|HashMap.get|get|"},
	{"[java]", "java.util.stream.Streams$RangeIntSpliterator.forEachRemaining",
		"java.util.stream.Streams$RangeIntSpliterator.forEachRemaining|"
		"util.stream.Streams$RangeIntSpliterator.forEachRemaining|"
		"stream.Streams$RangeIntSpliterator.forEachRemaining|"
		"Streams$RangeIntSpliterator.forEachRemaining|forEachRemaining|"},
	{"[java]", "org.app.Model.<init>", "org.app.Model.<init>|app.Model.<init>|Model.<init>|"},
	{"[java]", "VM_Version stub", "VM_Version stub|"},
	{"[dotnet]", "System.Collections.Generic.List<System.String>.Add",
		"System.Collections.Generic.List<System.String>.Add|"
		"Collections.Generic.List<System.String>.Add|Generic.List<System.String>.Add|"
		"List<System.String>.Add|Add|"},
	{"[dotnet]", "Shape.Program..ctor", "Shape.Program..ctor|Program..ctor|"},
	{"[dotnet]", "Shape.Program+<>c.<Main>b__0",
		"Shape.Program+<>c.<Main>b__0|"
		"Program+<>c.<Main>b__0|"},
	{"[php]", "App\\Http\\Kernel::handle",
		"App\\Http\\Kernel::handle|Http\\Kernel::handle|Kernel::handle|"},
	{"[ruby]", "Net::HTTP#request", "Net::HTTP#request|HTTP#request|"},
	{"[ruby]", "block in Net::HTTP#request", "block in Net::HTTP#request|"},
	{"[perl]", "File::Find::find", "File::Find::find|Find::find|find|"},
	{"[python]", "parse.<locals>.<lambda>", "parse.<locals>.<lambda>|"},
	{"[python]", "Model.fit", "Model.fit|"},
	{"[javascript]", "Parser.parse", "Parser.parse|"},
};

TEST(short_names_lose_parameters_then_arguments_then_scopes)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(str_deinit) struct str forms = {0}, storage = {0};
		const struct profile_function function = {
			.name = cases[i].name,
			.system_name = cases[i].name,
			.is_script = cases[i].object[0] != 0,
			.scope_mark = short_names_mark(cases[i].object),
		};
		CHECK(!short_names_each(&function, put_short_name, &forms, &storage));
		CHECK_STR(str_text(&forms), cases[i].want);
	}
}

static bool fits_columns(const void *context, const char *name)
{
	return strlen(name) <= *(const size_t *)context;
}

TEST(short_names_fit_as_long_as_there_is_room)
{
	static const struct {
		size_t columns;
		const char *want;
	} rows[] = {{40, "java.util.HashMap.get"}, {20, "util.HashMap.get"}, {11, "HashMap.get"},
		{10, "get"}, {2, "get"}};
	const struct profile_function function = {.name = "java.util.HashMap.get",
		.system_name = "java.util.HashMap.get",
		.is_script = true,
		.scope_mark = '.'};
	CLEANUP(str_deinit) struct str storage = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CHECK_STR(short_names_fit(&function, fits_columns, &rows[i].columns, &storage),
			rows[i].want);
}
