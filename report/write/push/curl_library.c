#include "report/write/push/curl_library.h"

#include <dlfcn.h>
#include <stddef.h>

#include "format/base/shared_library.h"

#ifdef EBPROF_STATIC

bool curl_library_load(struct curl_library *ret)
{
	(void)ret;
	return false;
}

bool curl_library_is_possible(void)
{
	return false;
}

#else

/* Debian has it with OpenSSL and with GnuTLS; either will do. */
static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

bool curl_library_load(struct curl_library *ret)
{
	struct curl_library found = {0};
	const struct {
		const char *name;
		void *member;
	} wanted[] = {
		{"curl_global_init", &found.global_init},
		{"curl_easy_init", &found.easy_init},
		{"curl_easy_cleanup", &found.easy_cleanup},
		{"curl_easy_setopt", &found.easy_setopt},
		{"curl_easy_perform", &found.easy_perform},
		{"curl_easy_getinfo", &found.easy_getinfo},
		{"curl_easy_strerror", &found.easy_strerror},
		{"curl_slist_append", &found.slist_append},
		{"curl_slist_free_all", &found.slist_free_all},
	};
	void *library = open_library();
	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!shared_library_find(library, wanted[i].name, wanted[i].member)) {
			dlclose(library);
			return false;
		}
	*ret = found;
	return true;
}

bool curl_library_is_possible(void)
{
	return true;
}

#endif
