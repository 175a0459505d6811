#include "format/clr/clr_bytes.h"

#include <endian.h>
#include <string.h>

#include "format/base/mem.h"

void clr_bytes_init(struct clr_bytes *bytes, clr_bytes_read_fn *read, void *context, uint64_t size)
{
	*bytes = (struct clr_bytes){.read = read, .context = context, .size = size};
}

void clr_bytes_deinit(struct clr_bytes *bytes)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&bytes->pages, &cursor));)
		mem_free((void *)(uintptr_t)slot->value);
	map_deinit(&bytes->pages);
	bytes->page = NULL;
}

size_t clr_bytes_held(const struct clr_bytes *bytes)
{
	return bytes->pages.len * CLR_BYTES_PAGE;
}

/* NULL: it cannot be read. */
static const uint8_t *find_clr_page(struct clr_bytes *bytes, uint64_t number)
{
	if (bytes->page && bytes->number == number)
		return bytes->page;
	const uint64_t *known = map_get(&bytes->pages, number);
	uint64_t at = number * CLR_BYTES_PAGE, left = bytes->size - at;
	if (!known && (at >= bytes->size || bytes->pages.len >= CLR_BYTES_MAX_PAGES))
		return NULL;
	if (!known) {
		CLEANUP_FREE uint8_t *page = mem_zalloc(CLR_BYTES_PAGE);
		if (!bytes->read(bytes->context, at, page,
			    left < CLR_BYTES_PAGE ? (size_t)left : CLR_BYTES_PAGE))
			return NULL;
		known = map_put(&bytes->pages, number, NULL);
		*(uint64_t *)(uintptr_t)known = (uintptr_t)steal_ptr(page);
	}
	bytes->page = (const uint8_t *)(uintptr_t)*known;
	bytes->number = number;
	return bytes->page;
}

bool clr_bytes_copy(struct clr_bytes *bytes, uint64_t at, void *to, size_t len)
{
	uint8_t *out = to;
	if (at > bytes->size || len > bytes->size - at)
		bytes->is_bad = true;
	memset(to, 0, len);
	while (len && !bytes->is_bad) {
		size_t into = at % CLR_BYTES_PAGE, some = CLR_BYTES_PAGE - into;
		const uint8_t *page = find_clr_page(bytes, at / CLR_BYTES_PAGE);
		if (!page) {
			bytes->is_bad = true;
			break;
		}
		some = some < len ? some : len;
		memcpy(out, page + into, some);
		out += some;
		at += some;
		len -= some;
	}
	return !bytes->is_bad;
}

uint8_t clr_bytes_u8(struct clr_bytes *bytes, uint64_t at)
{
	uint8_t value = 0;
	clr_bytes_copy(bytes, at, &value, sizeof(value));
	return value;
}

uint16_t clr_bytes_u16(struct clr_bytes *bytes, uint64_t at)
{
	uint16_t value = 0;
	clr_bytes_copy(bytes, at, &value, sizeof(value));
	return le16toh(value);
}

uint32_t clr_bytes_u32(struct clr_bytes *bytes, uint64_t at)
{
	uint32_t value = 0;
	clr_bytes_copy(bytes, at, &value, sizeof(value));
	return le32toh(value);
}

uint64_t clr_bytes_u64(struct clr_bytes *bytes, uint64_t at)
{
	uint64_t value = 0;
	clr_bytes_copy(bytes, at, &value, sizeof(value));
	return le64toh(value);
}

void clr_bytes_put_text(struct clr_bytes *bytes, uint64_t at, size_t max, struct str *out)
{
	for (size_t i = 0; i < max; i++) {
		uint8_t c = clr_bytes_u8(bytes, at + i);
		if (!c)
			return;
		str_putc(out, (char)c);
	}
}

uint32_t clr_bytes_packed(struct clr_bytes *bytes, uint64_t *at)
{
	uint32_t first = clr_bytes_u8(bytes, *at);
	uint32_t more = first < 0x80 ? 0 : first < 0xc0 ? 1 : 3;
	uint32_t value = first < 0x80 ? first : first < 0xc0 ? first & 0x3f : first & 0x1f;
	bytes->is_bad |= first >= 0xe0;
	for (uint32_t i = 1; i <= more; i++)
		value = value << 8 | clr_bytes_u8(bytes, *at + i);
	*at += more + 1;
	return value;
}

int32_t clr_bytes_packed_signed(struct clr_bytes *bytes, uint64_t *at)
{
	uint64_t before = *at;
	uint32_t value = clr_bytes_packed(bytes, at);
	uint32_t bits = *at - before == 1 ? 6 : *at - before == 2 ? 13 : 28;
	int32_t magnitude = (int32_t)(value >> 1);
	return value & 1 ? magnitude - (1 << bits) : magnitude;
}
