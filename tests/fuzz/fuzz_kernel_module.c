/* A module of the kernel, any bytes: it is found, laid out, relocated, placed by its symbols,
 * asked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/elf/elf_symbols.h"
#include "report/name/symbol/symbolizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define RELEASE "6.1"

enum {
	SYMBOLS_MAX = 32,
	TEXT = 0x500, /* where the kernel has put every section */
};

/* The folders below a root, and the file in the last. */
static const char *const places[] = {
	"", "/lib", "/lib/modules", "/lib/modules/" RELEASE, "/lib/modules/" RELEASE "/mod.ko"};

enum {
	NR_PLACES = sizeof(places) / sizeof(*places),
};

static void write_module(const char *root, const uint8_t *bytes, size_t len)
{
	char path[128];
	for (size_t i = 1; i + 1 < NR_PLACES; i++) {
		snprintf(path, sizeof(path), "%s%s", root, places[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s%s", root, places[NR_PLACES - 1]);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void remove_module(const char *root)
{
	char path[128];
	for (size_t i = NR_PLACES; i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, places[i]);
		remove(path);
	}
}

/* As recorded: the first of the module's symbols, each with a frame. */
static void capture(struct profile *profile, const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->symbols.len && i < SYMBOLS_MAX; i++) {
		const struct elf_symbol *symbol = &symbols->symbols.data[i];
		uint64_t offset = TEXT + symbol->address;
		vec_push(&profile->symbols, (struct profile_symbol){1, offset, symbol->size,
						    elf_symbols_name(symbols, symbol)});
		vec_push(&profile->frames, (struct profile_frame){.object = 1, .offset = offset});
	}
}

static void symbolize_module(const char *root, const uint8_t *build_id, size_t build_id_len,
	const struct elf_symbols *symbols)
{
	struct profile profile = {0};
	struct symbolize_options options = {.files.symfs = root, .cache_folder = ""};
	struct profile_object object = {
		.info = {.kind = LAYOUT_OBJECT_MODULE,
			.base = 0xffffffffc0000000,
			.build_id_len = (uint8_t)build_id_len},
		.path = "[mod]",
		.name = "[mod]",
	};
	memcpy(object.info.build_id, build_id, build_id_len);
	vec_push(&profile.meta, (struct profile_meta){LAYOUT_META_KERNEL, RELEASE});
	vec_push(&profile.objects, (struct profile_object){0});
	vec_push(&profile.objects, object);
	vec_push(&profile.frames, (struct profile_frame){.offset = LAYOUT_TRUNCATED_UNKNOWN});
	vec_push(&profile.functions, (struct profile_function){.name = ""});
	capture(&profile, symbols);
	symbolize(&profile, &options);
	vec_each(&profile.objects, it)
		chain_map_deinit(&it->chains);
	vec_deinit(&profile.meta);
	vec_deinit(&profile.objects);
	vec_deinit(&profile.frames);
	vec_deinit(&profile.functions);
	vec_deinit(&profile.symbols);
	arena_deinit(&profile.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct elf_file *elf;
	struct err *err = elf_file_open_memory(bytes, len, &elf);
	err_destroy(err);
	if (err)
		return 0;
	unsetenv("HOME"); /* no cache of perf's */
	char root[] = "/tmp/ebprof-fuzz.XXXXXX";
	struct elf_symbols symbols = {0};
	size_t build_id_len;
	const uint8_t *build_id = elf_file_build_id(elf, &build_id_len);
	err_destroy(elf_symbols_read(elf, &symbols));
	if (build_id && symbols.symbols.len && mkdtemp(root)) {
		write_module(root, bytes, len);
		symbolize_module(root, build_id, build_id_len, &symbols);
		remove_module(root);
	}
	elf_symbols_deinit(&symbols);
	elf_file_destroy(elf);
	return 0;
}
