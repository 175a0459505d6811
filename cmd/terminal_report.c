#include "cmd/terminal_report.h"

#include <locale.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/import_input.h"

int terminal_report(struct tui_options *options, struct select_options *select)
{
	setlocale(LC_CTYPE, "");
	select->naming.is_silent = true; /* the screen is another's */
	naming_begin(&select->naming);
	options->symbolize = select->naming.symbolize;
	options->filter = select_filter(select);
	options->import = import_input_take_noting;
	bool is_left = false;
	struct err *err = tui_run(options, &is_left);
	if (!is_left) /* else a thread may still look up names */
		is_left = !naming_end(&select->naming);
	int code = err ? console_fail(err) : CONSOLE_OK;
	if (is_left) /* threads still use what freeing and exit handlers would take from them */
		_exit(code);
	return code;
}
