#include "report/name/short_names.h"

#include <string.h>

#include "report/name/demangle/demangle.h"
#include "report/name/demangle/demangle_collapse.h"

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

/* What was inlined may have no other name than the one that debug information spells out. */
static bool short_names_collapse(
	const struct profile_function *function, enum demangle_mode mode, struct str *out)
{
	if (demangle(function->system_name, mode, out))
		return true;
	/* A namesake's without its place; but one that is too long to be read is no name at all. */
	const char *name =
		is_mangled(function->system_name) ? function->name : function->system_name;
	demangle_collapse_fn *collapse =
		name[0] == '<' ? demangle_collapse_rust : demangle_collapse_cplus;
	size_t before = out->len;
	if (collapse(name, strlen(name), mode == DEMANGLE_TEMPLATES, out) && out->len > before)
		return true;
	str_truncate(out, before);
	return false;
}

/* Scripts and native frames of the kernel have names in brackets that mean something else. */
static bool short_names_is_short(const struct profile_function *function)
{
	return function->is_script || function->name[0] == '[' || !strpbrk(function->name, "<(");
}

char short_names_mark(const char *object)
{
	static const struct {
		const char *object;
		char mark;
	} languages[] = {
		{"[java]", '.'},   /* java.util.HashMap.get */
		{"[dotnet]", '.'}, /* System.Text.StringBuilder.Append */
		{"[php]", '\\'},   /* App\Http\Kernel::handle */
		{"[ruby]", ':'},   /* Net::HTTP#request */
		{"[perl]", ':'},   /* File::Find::find */
	};
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
		if (strcmp(languages[i].object, object) == 0)
			return languages[i].mark;
	return 0;
}

/* How many bytes end a scope here; 0: none does. `mark` 0: of compiled code. */
static size_t scope_end(const char *at, char mark)
{
	if (at[0] == ':' && at[1] == ':')
		return !mark || mark == ':' ? 2 : 0;
	if (mark == ':')
		return 0;
	return *at == (mark ? mark : '/'); /* the folder of a Go package */
}

/* Behind the outermost namespace, or package; NULL: there is none, or nothing behind it. */
static const char *behind_scope(const char *name, char mark)
{
	int depth = 0;
	for (const char *at = name; *at; at++) {
		size_t end = depth ? 0 : scope_end(at, mark);
		if (end && mark && at[end] && strchr("<.", at[end]))
			return NULL; /* a constructor, <init> or .ctor, says nothing alone */
		if (strchr("<({[", *at))
			depth++;
		else if (strchr(">)}]", *at))
			depth--;
		else if (end && at[end])
			return at + end;
		else if (*at == ' ') /* "vtable for x::y", "operator delete" */
			return NULL;
	}
	return NULL;
}

bool short_names_each(const struct profile_function *function, short_names_use_fn *use,
	void *context, struct str *storage)
{
	static const enum demangle_mode modes[] = {DEMANGLE_TEMPLATES, DEMANGLE_SIMPLIFIED};
	const char *name = function->has_bounds ? function->system_name : function->name;
	if (use(context, name))
		return true;
	if (function->has_bounds || name[0] == '[' ||
		(function->is_script && !function->scope_mark))
		return false;
	for (size_t i = 0; !short_names_is_short(function) && i < sizeof(modes) / sizeof(*modes);
		i++) {
		str_truncate(storage, 0);
		if (!short_names_collapse(function, modes[i], storage))
			continue;
		name = str_text(storage);
		if (use(context, name))
			return true;
	}
	for (const char *next; (next = behind_scope(name, function->scope_mark)); name = next)
		if (use(context, next))
			return true;
	static const char left_out[] = "<...>";
	size_t len = strlen(name), end = sizeof(left_out) - 1;
	if (len <= end || strcmp(name + len - end, left_out) != 0)
		return false;
	str_truncate(storage, storage->len - end); /* collapsed there, and the name is its end */
	return use(context, name);
}

struct fitting {
	short_names_fits_fn *fits;
	const void *context;
	const char *name; /* the last one that was tried */
};

static bool is_fitting(void *context, const char *name)
{
	struct fitting *fitting = context;
	fitting->name = name;
	return fitting->fits(fitting->context, name);
}

const char *short_names_fit(const struct profile_function *function, short_names_fits_fn *fits,
	const void *context, struct str *storage)
{
	struct fitting fitting = {fits, context, NULL};
	short_names_each(function, is_fitting, &fitting, storage);
	return fitting.name;
}
