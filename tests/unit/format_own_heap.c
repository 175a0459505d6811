/* Which files are runtimes that keep objects on heaps of their own. */
#include "format/file/own_heap.h"

#include "tests/unit/unit.h"

TEST(runtimes_are_known_by_their_files)
{
	CHECK_STR(own_heap_of("/usr/lib/jvm/lib/server/libjvm.so"), "objects of Java");
	CHECK_STR(own_heap_of("/usr/local/bin/node"), "objects of JavaScript");
	CHECK_STR(own_heap_of("/usr/lib/libnode.so.108"), "objects of JavaScript");
	CHECK_STR(own_heap_remedy("/usr/bin/python3.11"), "PYTHONMALLOC=malloc");
	CHECK_STR(own_heap_remedy("/usr/lib/libpython3.11.so.1.0"), "PYTHONMALLOC=malloc");
	CHECK_STR(own_heap_of("/usr/lib/libruby-3.1.so.3.1.2"), "slots of Ruby's objects");
	CHECK_STR(own_heap_remedy("/usr/sbin/php-fpm8.2"), "USE_ZEND_ALLOC=0");
	CHECK(!own_heap_remedy("/usr/bin/ruby3.1"));
}

TEST(others_are_none)
{
	static const char *const others[] = {"/usr/bin/perl", "/usr/lib/libc.so.6", "node_exporter",
		"pythonic", "/usr/bin/php-config", "/usr/bin/python3.11-config", "[java]", ""};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!own_heap_of(others[i]) && !own_heap_remedy(others[i]));
}
