/* Modules of WebAssembly, as the binary format has them. */
#include <string.h>

#include "record/runtime/node/wasm_module.h"
#include "tests/unit/unit.h"

/* Two functions are imported among one of each other kind; three are the module's own. */
static const uint8_t imports[] = {6, 1, 'm', 1, 'a', 0, 0, /* function */
	1, 'm', 1, 'b', 1, 0x70, 1, 2, 0x80, 1,            /* table of 2 to 128 */
	1, 'm', 1, 'c', 2, 1, 1, 2,                        /* memory */
	1, 'm', 1, 'd', 3, 0x64, 0x6e, 1,                  /* global: (ref any), mutable */
	1, 'm', 1, 'e', 4, 0, 3,                           /* tag */
	1, 'm', 0, 0, 5};
static const uint8_t functions[] = {3, 0, 0, 0};
static const uint8_t exports[] = {3, 3, 'r', 'u', 'n', 0, 2, 3, 'm', 'e', 'm', 2, 0, 1, 'z', 0, 0};
static const uint8_t names[] = {0, 2, 1, 'x',                     /* of the module */
	1, 14, 3, 4, 4, 'l', 'a', 's', 't', 2, 1, 'f', 9, 1, '?', /* of functions */
	2, 1, 0};                                                 /* of locals */

static struct bytes_buf sections[WASM_SECTIONS];

static void put(enum wasm_section section, const uint8_t *bytes, size_t len)
{
	sections[section].len = 0;
	bytes_put(&sections[section], bytes, len);
}

static void deinit_sections(void)
{
	for (int i = 0; i < WASM_SECTIONS; i++)
		bytes_buf_deinit(&sections[i]);
}

static const char *name_of(const struct wasm_module *module, uint32_t function)
{
	static char text[16];
	const struct wasm_name *name = wasm_module_name(module, function);
	if (!name || name->len >= sizeof(text))
		return "-";
	memcpy(text, name->text, name->len);
	text[name->len] = 0;
	return text;
}

TEST(functions_of_a_module_have_names)
{
	struct wasm_module module;
	put(WASM_SECTION_IMPORTS, imports, sizeof(imports));
	put(WASM_SECTION_FUNCTIONS, functions, sizeof(functions));
	put(WASM_SECTION_EXPORTS, exports, sizeof(exports));
	put(WASM_SECTION_NAMES, names, sizeof(names));
	CHECK(wasm_module_init(&module, sections));
	CHECK_INT(module.nr_imported, 2);
	CHECK_INT(module.nr_declared, 3);
	CHECK_STR(name_of(&module, 2), "f");
	CHECK_STR(name_of(&module, 3), "-");
	CHECK_STR(name_of(&module, 4), "last");
	CHECK_STR(name_of(&module, 9), "-"); /* there is no such function */
	wasm_module_deinit(&module);
	put(WASM_SECTION_NAMES, NULL, 0);
	CHECK(wasm_module_init(&module, sections));
	CHECK_STR(name_of(&module, 2), "run");
	CHECK_STR(name_of(&module, 0), "z");
	CHECK_STR(name_of(&module, 1), "-");
	wasm_module_deinit(&module);
	deinit_sections();
}

/* Names that end early are as many as there are; imports that make no sense leave nothing. */
TEST(modules_that_are_cut)
{
	struct wasm_module module;
	put(WASM_SECTION_FUNCTIONS, functions, sizeof(functions));
	for (size_t len = 0; len < sizeof(names); len++) {
		put(WASM_SECTION_IMPORTS, imports, sizeof(imports));
		put(WASM_SECTION_NAMES, names, len);
		CHECK(wasm_module_init(&module, sections));
		CHECK(module.names.len <= 2);
		wasm_module_deinit(&module);
	}
	for (size_t len = 1; len < sizeof(imports); len++) {
		put(WASM_SECTION_IMPORTS, imports, len);
		CHECK(!wasm_module_init(&module, sections));
		wasm_module_deinit(&module);
	}
	static const uint8_t many[] = {0xff, 0xff, 0xff, 0x7f};
	put(WASM_SECTION_IMPORTS, NULL, 0);
	put(WASM_SECTION_FUNCTIONS, many, sizeof(many));
	CHECK(!wasm_module_init(&module, sections));
	wasm_module_deinit(&module);
	deinit_sections();
}

TEST(heads_of_sections)
{
	static const uint8_t name[] = {0, 0x85, 0x80, 0, 4, 'n', 'a', 'm', 'e', 1};
	static const uint8_t other[] = {0, 9, 4, 'n', 'o', 'n', 'e'}, code[] = {10, 0x80, 0x10};
	static const uint8_t none[] = {14, 1, 0}, cut[] = {3, 0x80};
	enum wasm_section section;
	size_t head_len;
	uint64_t body_len;
	CHECK(wasm_section_head(name, sizeof(name), &section, &head_len, &body_len));
	CHECK_INT(section, WASM_SECTION_NAMES);
	CHECK_INT(head_len, 9);
	CHECK_INT(body_len, 0);
	CHECK(wasm_section_head(other, sizeof(other), &section, &head_len, &body_len));
	CHECK_INT(section, WASM_SECTION_OTHER);
	CHECK_INT(head_len, 2);
	CHECK_INT(body_len, 9);
	CHECK(wasm_section_head(code, sizeof(code), &section, &head_len, &body_len));
	CHECK_INT(section, WASM_SECTION_OTHER);
	CHECK_INT(body_len, 2048);
	CHECK(!wasm_section_head(none, sizeof(none), &section, &head_len, &body_len));
	CHECK(!wasm_section_head(cut, sizeof(cut), &section, &head_len, &body_len));
}
