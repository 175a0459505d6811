#include "format/base/shared_library.h"

#include <dlfcn.h>
#include <string.h>

/* ISO C has no cast from an object's address to a function's; POSIX promises that they are alike.
 */
bool shared_library_find(void *library, const char *name, void *member)
{
	void *address = dlsym(library, name);
	memcpy(member, &address, sizeof(address));
	return address != NULL;
}
