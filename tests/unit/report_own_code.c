#include "report/analyse/own_code.h"
#include "tests/unit/unit.h"

enum object {
	OBJECT_NONE,
	OBJECT_OWN,
	OBJECT_INTERPRETER,
	OBJECT_LIBC,
	OBJECT_KERNEL,
	OBJECT_PYTHON,
	OBJECTS,
};

static struct profile_object objects[OBJECTS] = {
	[OBJECT_NONE] = {.name = "", .path = ""},
	[OBJECT_OWN] = {.name = "fill", .path = "/home/user/fill"},
	[OBJECT_INTERPRETER] = {.name = "python3.11", .path = "/usr/bin/python3.11"},
	[OBJECT_LIBC] = {.name = "libc.so.6", .path = "/usr/lib/x86_64-linux-gnu/libc.so.6"},
	[OBJECT_KERNEL] = {.info = {.kind = LAYOUT_OBJECT_KERNEL},
		.name = "[kernel]",
		.path = "[kernel]"},
	[OBJECT_PYTHON] = {.info = {.kind = LAYOUT_OBJECT_SCRIPT},
		.name = "[python]",
		.path = "[python]"},
};

enum function {
	FUNCTION_NONE,
	MAIN,
	FILL,
	MEMSET,
	EVALUATE,
	PARSE,
	SYS_READ,
	FUNCTIONS,
};

static struct profile_function functions[FUNCTIONS] = {
	[MAIN] = {.name = "main", .object = OBJECT_OWN, .is_known = true},
	[FILL] = {.name = "fill", .object = OBJECT_OWN, .is_known = true},
	[MEMSET] = {.name = "memset", .object = OBJECT_LIBC, .is_known = true},
	[EVALUATE] = {.name = "_PyEval", .object = OBJECT_INTERPRETER, .is_known = true},
	[PARSE] = {.name = "parse", .object = OBJECT_PYTHON, .is_known = true},
	[SYS_READ] = {.name = "sys_read", .object = OBJECT_KERNEL, .is_known = true},
};

static struct profile_frame frames[FUNCTIONS]; /* of each function one */

/* A tree with so much self at each of its nodes. */
struct grown {
	struct tree tree;
	struct tree_growth growth;
	struct tree_weight weights[16];
};

static void grown_init(struct grown *grown)
{
	*grown = (struct grown){0};
	tree_begin(&grown->tree, &grown->growth);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		frames[i] = (struct profile_frame){.object = functions[i].object, .function = i};
}

static uint32_t grow(struct grown *grown, uint32_t parent, enum function function, uint64_t self)
{
	struct tree_node node = {
		.function = function,
		.frame = function,
		.parent = parent,
		.is_kernel = functions[function].object == OBJECT_KERNEL,
	};
	uint32_t at = tree_grow(&grown->tree, &grown->growth, &node);
	grown->weights[at].self += self;
	return at;
}

static uint64_t *weigh(struct grown *grown)
{
	struct own_code_request request = {
		.tree = &grown->tree,
		.weights = grown->weights,
		.frames = frames,
		.functions = functions,
		.nr_functions = FUNCTIONS,
		.objects = objects,
	};
	uint64_t *times = own_code_weigh(&request);
	tree_growth_deinit(&grown->growth);
	tree_deinit(&grown->tree);
	return times;
}

TEST(own_code_is_scripts_and_what_no_package_installed)
{
	CHECK(own_code_has(&functions[MAIN], &objects[OBJECT_OWN]));
	CHECK(own_code_has(&functions[PARSE], &objects[OBJECT_PYTHON]));
	CHECK(!own_code_has(&functions[MEMSET], &objects[OBJECT_LIBC]));
	CHECK(!own_code_has(&functions[EVALUATE], &objects[OBJECT_INTERPRETER]));
	CHECK(!own_code_has(&functions[SYS_READ], &objects[OBJECT_KERNEL]));
	CHECK(!own_code_has(&functions[FUNCTION_NONE], &objects[OBJECT_NONE]));
}

TEST(programs_of_packages_are_not_own_code)
{
	static const struct {
		const char *path;
		bool is_own;
	} rows[] = {
		{"/usr/bin/python3.11", false},
		{"/usr/lib/firefox/firefox", false},
		{"/usr/lib64/firefox/firefox", false}, /* Fedora's, SUSE's */
		{"/lib64/ld-linux-x86-64.so.2", false},
		{"/usr/local/lib/erlang/erts-15.0/bin/beam.smp", false},
		{"/snap/chromium/1/usr/lib/chromium-browser/chrome", false},
		{"/app/node_modules/esbuild/bin/esbuild", false},
		{"/usr/src/app/server", true}, /* as images of containers have it */
		{"/usr/local/bin/server", true},
		{"/opt/server/server", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile_object object = {.name = "x", .path = rows[i].path};
		if (own_code_has(&functions[MAIN], &object) != rows[i].is_own)
			unit_fail(__FILE__, __LINE__, "%s", rows[i].path);
	}
}

/* Compiled into the program, as what a mutex of C++ does first. */
TEST(functions_of_installed_headers_are_not_own_code)
{
	static const struct {
		const char *file;
		bool is_own;
	} rows[] = {
		{"/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h", false},
		{"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", false},
		{"/usr/src/app/include/app.h", true},
		{"main.c", true},
		{NULL, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile_function function = functions[MAIN];
		function.file = rows[i].file;
		if (own_code_has(&function, &objects[OBJECT_OWN]) != rows[i].is_own)
			unit_fail(__FILE__, __LINE__, "%s", rows[i].file ? rows[i].file : "none");
	}
}

/* A library called by own code runs for it, the kernel for no function. */
TEST(libraries_count_for_own_code_that_calls_them)
{
	struct grown grown;
	grown_init(&grown);
	uint32_t main_ = grow(&grown, 0, MAIN, 1);
	uint32_t fill = grow(&grown, main_, FILL, 2);
	uint32_t set = grow(&grown, fill, MEMSET, 40);
	grow(&grown, set, SYS_READ, 100);
	grow(&grown, main_, MEMSET, 8);
	grow(&grown, 0, MEMSET, 500); /* that nothing of the program called */
	CLEANUP_FREE uint64_t *times = weigh(&grown);
	CHECK_INT(times[MAIN], 9);
	CHECK_INT(times[FILL], 42);
	CHECK_INT(times[MEMSET], 0);
	CHECK_INT(times[SYS_READ], 0);
}

/* What an interpreter does is for the script, also where it lies in the user's own folder. */
TEST(native_code_counts_for_the_script_that_calls_it)
{
	struct grown grown;
	grown_init(&grown);
	uint32_t begin = grow(&grown, 0, MAIN, 1);
	uint32_t evaluate = grow(&grown, begin, EVALUATE, 3);
	uint32_t parse = grow(&grown, evaluate, PARSE, 5);
	uint32_t native = grow(&grown, parse, FILL, 20);
	grow(&grown, native, MEMSET, 30);
	CLEANUP_FREE uint64_t *times = weigh(&grown);
	CHECK_INT(times[PARSE], 55);
	CHECK_INT(times[FILL], 0);
	CHECK_INT(times[MAIN], 4);
}
