#include "format/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"

struct err {
	enum err_code code;
	int errnum;
	char *message;
};

static struct err *err_create(enum err_code code, int errnum, struct str *message)
{
	struct err *err = mem_alloc(sizeof(*err));
	err->code = code;
	err->errnum = errnum;
	err->message = str_steal(message);
	return err;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	struct str message = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&message, fmt, args);
	va_end(args);
	return err_create(code, 0, &message);
}

struct err *err_sys(int errnum, const char *fmt, ...)
{
	struct str message = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&message, fmt, args);
	va_end(args);
	str_printf(&message, ": %s", strerror(errnum));
	bool denied = errnum == EPERM || errnum == EACCES;
	return err_create(denied ? ERR_PERMISSION : ERR_IO, errnum, &message);
}

struct err *err_wrap(struct err *err, const char *fmt, ...)
{
	if (!err)
		return NULL;
	struct str message = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&message, fmt, args);
	va_end(args);
	str_printf(&message, ": %s", err->message);
	mem_free(err->message);
	err->message = str_steal(&message);
	return err;
}

enum err_code err_code(const struct err *err)
{
	return err->code;
}

const char *err_code_word(enum err_code code)
{
	static const char *const words[] = {
#define X(name, word) [name] = word,
		ERR_CODES(X)
#undef X
	};
	return words[code];
}

int err_errnum(const struct err *err)
{
	return err->errnum;
}

const char *err_message(const struct err *err)
{
	return err->message;
}

void err_destroy(struct err *err)
{
	if (!err)
		return;
	mem_free(err->message);
	mem_free(err);
}
