#include "report/compare/baseline/sha256_library.h"

#include <stdbool.h>
#include <stdio.h>

enum {
	SHA256_BYTES = 32,
};

#ifdef EBPROF_STATIC

#if __has_include(<nettle/sha2.h>)

#include <nettle/sha2.h>

static bool hash(const void *bytes, size_t len, uint8_t *digest)
{
	struct sha256_ctx context;
	sha256_init(&context);
	sha256_update(&context, len, bytes);
	sha256_digest(&context, SHA256_BYTES, digest);
	return true;
}

#else

static bool hash(const void *bytes, size_t len, uint8_t *digest)
{
	(void)bytes, (void)len, (void)digest;
	return false;
}

#endif

static const char missing[] =
	"this static ebprof was built without libnettle, whose SHA-256 identifies baselines";

#else

#include <dlfcn.h>

#include "format/base/shared_library.h"

static const char missing[] = "baselines are identified by their SHA-256, for which libcrypto.so.3 "
			      "(Debian: libssl3) or libgcrypt.so.20 is needed";

enum {
	GCRY_SHA256 = 8, /* gcrypt.h: GCRY_MD_SHA256 */
};

static bool hash_by_openssl(void *library, const void *bytes, size_t len, uint8_t *digest)
{
	unsigned char *(*sha256)(const unsigned char *data, size_t count, unsigned char *md);
	return shared_library_find(library, "SHA256", &sha256) && sha256(bytes, len, digest);
}

static bool hash_by_gcrypt(void *library, const void *bytes, size_t len, uint8_t *digest)
{
	const char *(*check_version)(const char *wanted);
	void (*hash_buffer)(int algorithm, void *digest, const void *data, size_t count);
	if (!shared_library_find(library, "gcry_check_version", &check_version) ||
		!shared_library_find(library, "gcry_md_hash_buffer", &hash_buffer))
		return false;
	check_version(NULL); /* initializes the library */
	hash_buffer(GCRY_SHA256, digest, bytes, len);
	return true;
}

static bool hash_by_nettle(void *library, const void *bytes, size_t len, uint8_t *digest)
{
	/* struct sha256_ctx takes 112 bytes in version 3; a later one may need more. */
	uint64_t context[64] = {0};
	void (*init)(void *ctx);
	void (*update)(void *ctx, size_t count, const uint8_t *data);
	void (*finish)(void *ctx, size_t count, uint8_t *out);
	if (!shared_library_find(library, "nettle_sha256_init", &init) ||
		!shared_library_find(library, "nettle_sha256_update", &update) ||
		!shared_library_find(library, "nettle_sha256_digest", &finish))
		return false;
	init(context);
	update(context, len, bytes);
	finish(context, SHA256_BYTES, digest);
	return true;
}

static bool hash(const void *bytes, size_t len, uint8_t *digest)
{
	static const struct {
		const char *name;
		bool (*hash)(void *library, const void *bytes, size_t len, uint8_t *digest);
	} libraries[] = {
		{"libcrypto.so.3", hash_by_openssl},
		{"libcrypto.so.1.1", hash_by_openssl},
		{"libgcrypt.so.20", hash_by_gcrypt},
		{"libnettle.so.8", hash_by_nettle},
	};
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		void *library = dlopen(libraries[i].name, RTLD_NOW | RTLD_LOCAL);
		if (library && libraries[i].hash(library, bytes, len, digest))
			return true; /* it stays loaded */
	}
	return false;
}

#endif

struct err *sha256_of(const void *bytes, size_t len, char ret[SHA256_DIGITS + 1])
{
	uint8_t digest[SHA256_BYTES];
	if (!hash(bytes, len, digest))
		return err_new(ERR_UNSUPPORTED, "%s", missing);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return NULL;
}
