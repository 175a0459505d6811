#include "report/tui/print.h"

#include "format/base/fd.h"
#include "format/base/output_file.h"

struct err *print_write(const char *path, const struct str *text)
{
	struct output_file *file;
	struct output_file_options options = {.path = path, .owner = caller_find(), .is_new = true};
	try(output_file_create(&options, &file));
	struct err *err = fd_write_all(output_file_fd(file), str_text(text), text->len);
	err = err ? err_wrap(err, "%s", path) : output_file_publish(file);
	if (!err)
		err = output_file_close(file);
	output_file_destroy(file);
	return err;
}
