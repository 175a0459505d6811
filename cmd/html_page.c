#include "cmd/html_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bounded_export.h"
#include "cmd/browser.h"
#include "cmd/console.h"
#include "cmd/export_file.h"
#include "format/base/mem.h"
#include "format/base/path.h"

#define PAGE_SUFFIX ".html"

/* "NAME.data" becomes "NAME.html": the file's name is what a browser's list of pages shows. */
static void put_page_name(const struct input *input, struct str *out)
{
	static const char suffix[] = ".data";
	const char *name = input->nr_paths == 1 ? path_last_part(input->name) : "merged";
	size_t len = strlen(name), cut = sizeof(suffix) - 1;
	if (len > cut && strcmp(name + len - cut, suffix) == 0)
		len -= cut;
	size_t begin = out->len;
	str_write(out, name, len);
	for (size_t i = begin; i < out->len; i++)
		if (out->data[i] == '/')
			out->data[i] = '-';
	if (!len || strcmp(name, "-") == 0)
		str_puts(out, "ebprof");
	str_puts(out, PAGE_SUFFIX);
}

/* A folder of its own, which only its user may enter, in one that is emptied when he logs out. */
static struct err *put_temporary_path(
	const struct input *input, const struct caller *caller, struct str *out)
{
	const char *named = getenv("TMPDIR");
	browser_put_runtime_folder(caller, out);
	if (!out->len)
		str_puts(out, named && *named == '/' ? named : "/tmp");
	str_puts(out, "/ebprof-XXXXXX");
	if (!mkdtemp(out->data))
		return err_sys(errno,
			"cannot create a folder like %s (-o FILE chooses another "
			"place)",
			str_text(out));
	if (caller->is_set && lchown(out->data, caller->uid, caller->gid))
		return err_sys(errno, "lchown %s", str_text(out));
	str_putc(out, '/');
	put_page_name(input, out);
	return NULL;
}

static struct err *write_page(const struct profile *profile, const struct input *input,
	const struct export_code *code, const char *path, bool is_private, uint64_t *bytes)
{
	size_t count;
	const struct exporter *exporter = &export_all(&count)[EXPORT_HTML];
	struct export_options options = {.code = code};
	struct export_file file;
	try(is_private ? export_file_open_private(path, &file)
		       : export_file_open(path, input->paths, input->nr_paths, &file));
	struct err *err =
		bounded_export_write(exporter, profile, &options, export_file_sink(&file));
	try(export_file_end(&file, err));
	*bytes = file.bytes;
	return NULL;
}

static struct err *put_absolute(const char *path, struct str *out)
{
	if (*path != '/') {
		CLEANUP_FREE char *here = getcwd(NULL, 0);
		if (!here)
			return err_sys(errno, "getcwd");
		str_printf(out, "%s/", here);
	}
	str_puts(out, path);
	return NULL;
}

/* The page is there all the same. */
static void say_not_opened(const struct caller *caller, struct err *err)
{
	if (err)
		console_say("not opened: %s", err_message(err));
	else if (browser_is_here(caller))
		console_say("not opened: there is no xdg-open (package xdg-utils), nor a $BROWSER");
	else
		console_say("not opened: there is no display here, nor a $BROWSER; to look at it "
			    "elsewhere, copy the file");
	err_destroy(err);
}

struct err *html_page_show(const struct profile *profile, const struct input *input,
	const struct export_code *code, const char *output)
{
	struct caller caller = caller_find();
	CLEANUP(str_deinit) struct str path = {0};
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP(str_deinit) struct str absolute = {0};
	CLEANUP(str_deinit) struct str browser = {0};
	uint64_t bytes = 0;
	if (output)
		str_puts(&path, output);
	else
		try(put_temporary_path(input, &caller, &path));
	try(write_page(profile, input, code, str_text(&path), !output, &bytes));
	try(put_absolute(str_text(&path), &absolute));
	struct err *err = browser_open(str_text(&absolute), &caller, &browser);
	console_put_count(&text, profile->samples.len);
	str_printf(&text, "%s -> %s (", str_plural(profile->samples.len, " sample", " samples"),
		str_text(&path));
	console_put_bytes(&text, bytes);
	str_puts(&text, browser.len ? "), opened by " : ")");
	str_puts(&text, str_text(&browser));
	console_note("%s", str_text(&text));
	if (!browser.len)
		say_not_opened(&caller, err);
	return NULL;
}
