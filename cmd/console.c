#include "cmd/console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static bool is_quiet; /* the log level */

static void print_text(const char *prefix, const char *suffix, const char *fmt, va_list args)
{
	CLEANUP(str_deinit) struct str text = {0}, safe = {0};
	str_vprintf(&text, fmt, args);
	str_puts_escaped(&safe, str_text(&text));
	fprintf(stderr, "%s%s%s", prefix, str_text(&safe), suffix);
}

static void print_line(const char *prefix, const char *fmt, va_list args)
{
	print_text(prefix, "\n", fmt, args);
}

void console_say(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_line("ebprof: ", fmt, args);
	va_end(args);
}

void console_note(const char *fmt, ...)
{
	if (is_quiet)
		return;
	va_list args;
	va_start(args, fmt);
	print_line("ebprof: ", fmt, args);
	va_end(args);
}

void console_be_quiet(void)
{
	is_quiet = true;
}

bool console_is_quiet(void)
{
	return is_quiet;
}

void console_say_more(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_line("        ", fmt, args);
	va_end(args);
}

void console_show(const char *fmt, ...)
{
	if (is_quiet || !isatty(STDERR_FILENO))
		return;
	va_list args;
	va_start(args, fmt);
	print_text("\r\033[Kebprof: ", "", fmt, args);
	va_end(args);
}

void console_show_end(void)
{
	if (!is_quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

unsigned console_columns(void)
{
	struct winsize size;
	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

int console_print(const struct str *text)
{
	bool is_written = fwrite(str_text(text), 1, text->len, stdout) == text->len;
	if ((is_written && !fflush(stdout)) || errno == EPIPE)
		return CONSOLE_OK;
	console_say("standard output: %s", strerror(errno));
	return CONSOLE_ERROR;
}

int console_fail(struct err *err)
{
	console_say("%s", err_message(err));
	int code = err_code(err) == ERR_USAGE ? CONSOLE_USAGE : CONSOLE_ERROR;
	err_destroy(err);
	return code;
}

void console_put_count(struct str *out, uint64_t count)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_putc(out, ' ');
		str_putc(out, digits[i]);
	}
}

void console_put_date(struct str *out, uint64_t time_s)
{
	time_t time = (time_t)time_s;
	struct tm parts;
	char text[32];
	if (gmtime_r(&time, &parts) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts))
		str_puts(out, text);
}

void console_put_bytes(struct str *out, uint64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;
	while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		unit++;
	}
	str_printf(out, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
