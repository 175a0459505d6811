#include "format/clr/clr_image.h"

#include "format/base/mem.h"
#include "format/unwind/unwind_xdata.h"

enum {
	HEAD_BYTES = 4096,
	READY_MAGIC = 0x00525452, /* "RTR" */
	READY_MAJOR = 4,
	READY_COUNT = 12,
	READY_ENTRIES = 16,
	READY_ENTRY_BYTES = 12,
	MAX_READY_SECTIONS = 64,
	FUNCTION_BYTES_WITHOUT_END = 8,
	MAX_FUNCTIONS = 1 << 21,
	NO_END = UINT32_MAX,

	DEBUG_ENTRY_BYTES = 28,
	MAX_DEBUG_ENTRIES = 16,
	DEBUG_STAMP = 4, /* of an entry */
	DEBUG_TYPE = 12,
	DEBUG_BYTES = 16,
	DEBUG_ADDRESS = 20,
	DEBUG_IS_PDB = 2,
	DEBUG_IS_PACKED_PDB = 17,
	DEBUG_GUID = 4, /* of what one of a PDB leads to */
	DEBUG_PATH = 24,
	GUID_BYTES = 16,
	MAX_PATH_BYTES = 1024,
};

static const uint32_t ready_types[CLR_READY_SECTIONS] = {
	[CLR_READY_FUNCTIONS] = 102,
	[CLR_READY_METHODS] = 103,
	[CLR_READY_DEBUG_INFO] = 105,
	[CLR_READY_THUNKS] = 106,
	[CLR_READY_INSTANCES] = 109,
};

bool clr_image_offset(const struct clr_image *image, uint32_t address, uint64_t *ret)
{
	*ret = address;
	return image->is_mapped ? address < image->headers.image_bytes
				: pe_headers_offset(&image->headers, address, ret);
}

static void take_ready_section(
	struct clr_image *image, uint32_t type, uint32_t address, uint32_t len)
{
	uint64_t at;
	for (int i = 0; i < CLR_READY_SECTIONS; i++)
		if (ready_types[i] == type && clr_image_offset(image, address, &at)) {
			image->ready[i].at = at;
			image->ready[i].address = address;
			image->ready[i].len = len;
		}
}

static void take_ready(struct clr_image *image, uint32_t address)
{
	struct clr_bytes *bytes = image->bytes;
	uint64_t at;
	if (!address || !clr_image_offset(image, address, &at) ||
		clr_bytes_u32(bytes, at) != READY_MAGIC)
		return;
	uint32_t count = clr_bytes_u32(bytes, at + READY_COUNT);
	image->ready_major = clr_bytes_u16(bytes, at + READY_MAJOR);
	at += READY_ENTRIES;
	for (uint32_t i = 0; i < count && i < MAX_READY_SECTIONS; i++, at += READY_ENTRY_BYTES)
		take_ready_section(image, clr_bytes_u32(bytes, at), clr_bytes_u32(bytes, at + 4),
			clr_bytes_u32(bytes, at + 8));
}

bool clr_image_open(struct clr_bytes *bytes, bool is_mapped, struct clr_image *ret)
{
	struct clr_image image = {.bytes = bytes, .is_mapped = is_mapped};
	CLEANUP_FREE uint8_t *head = mem_alloc(HEAD_BYTES);
	size_t len = bytes->size < HEAD_BYTES ? (size_t)bytes->size : HEAD_BYTES;
	uint64_t cli, metadata;
	if (!clr_bytes_copy(bytes, 0, head, len) || !pe_headers_parse(head, len, &image.headers) ||
		!clr_image_offset(&image, image.headers.directory[PE_DIRECTORY_CLI].address, &cli))
		return false;
	uint32_t metadata_address = clr_bytes_u32(bytes, cli + PE_CLI_METADATA);
	if (!clr_image_offset(&image, metadata_address, &metadata) ||
		!clr_metadata_open(bytes, metadata, &image.metadata))
		return false;
	take_ready(&image, clr_bytes_u32(bytes, cli + PE_CLI_MANAGED_CODE));
	*ret = image;
	return !bytes->is_bad;
}

static uint64_t function_at(const struct clr_image *image, uint32_t index)
{
	return image->ready[CLR_READY_FUNCTIONS].at +
	       (uint64_t)index * image->headers.function_bytes;
}

uint32_t clr_image_count_functions(const struct clr_image *image)
{
	uint64_t at = image->ready[CLR_READY_FUNCTIONS].at, size = image->bytes->size;
	uint64_t len = image->ready[CLR_READY_FUNCTIONS].len;
	len = at >= size ? 0 : len < size - at ? len : size - at;
	uint32_t count = (uint32_t)(len / image->headers.function_bytes);
	return count < MAX_FUNCTIONS ? count : MAX_FUNCTIONS;
}

bool clr_image_xdata(const struct clr_image *image, const struct clr_function *function,
	uint64_t *at, struct unwind_xdata_head *ret)
{
	if (!clr_image_offset(image, function->unwind_info, at))
		return false;
	uint32_t words[UNWIND_XDATA_HEAD_WORDS] = {
		clr_bytes_u32(image->bytes, *at), clr_bytes_u32(image->bytes, *at + 4)};
	return unwind_xdata_take_head(words, ret);
}

static struct clr_function function_without_end(const struct clr_image *image, uint64_t at)
{
	struct clr_function function = {.begin = clr_bytes_u32(image->bytes, at),
		.unwind_info = clr_bytes_u32(image->bytes, at + 4)};
	struct unwind_xdata_head head;
	if (clr_image_xdata(image, &function, &at, &head))
		function.end = function.begin + head.bytes;
	return function;
}

struct clr_function clr_image_function(const struct clr_image *image, uint32_t index)
{
	uint64_t at = function_at(image, index);
	if (image->headers.function_bytes == FUNCTION_BYTES_WITHOUT_END)
		return function_without_end(image, at);
	struct clr_function function = {.begin = clr_bytes_u32(image->bytes, at),
		.end = clr_bytes_u32(image->bytes, at + 4),
		.unwind_info = clr_bytes_u32(image->bytes, at + 8)};
	if (function.end == NO_END)
		function.end = 0;
	return function;
}

bool clr_image_find_function(const struct clr_image *image, uint32_t address, uint32_t *ret)
{
	uint32_t low = 0, high = clr_image_count_functions(image);
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (clr_bytes_u32(image->bytes, function_at(image, mid)) <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*ret = low - 1;
	uint32_t end = clr_image_function(image, low - 1).end;
	return !end || address < end;
}

/* Where the entry of a kind is, and what it leads to. False: there is none. */
static bool find_debug_entry(
	const struct clr_image *image, uint32_t type, uint64_t *entry, uint64_t *data)
{
	struct clr_bytes *bytes = image->bytes;
	uint64_t at;
	if (!clr_image_offset(image, image->headers.directory[PE_DIRECTORY_DEBUG].address, &at))
		return false;
	uint32_t count = image->headers.directory[PE_DIRECTORY_DEBUG].bytes / DEBUG_ENTRY_BYTES;
	for (uint32_t i = 0; i < count && i < MAX_DEBUG_ENTRIES; i++, at += DEBUG_ENTRY_BYTES) {
		*entry = at;
		if (clr_bytes_u32(bytes, at + DEBUG_TYPE) == type &&
			clr_image_offset(image, clr_bytes_u32(bytes, at + DEBUG_ADDRESS), data))
			return true;
	}
	return false;
}

bool clr_image_pdb_id(const struct clr_image *image, uint8_t ret[CLR_PDB_ID_BYTES])
{
	uint64_t entry, data;
	return find_debug_entry(image, DEBUG_IS_PDB, &entry, &data) &&
	       clr_bytes_copy(image->bytes, data + DEBUG_GUID, ret, GUID_BYTES) &&
	       clr_bytes_copy(image->bytes, entry + DEBUG_STAMP, ret + GUID_BYTES,
		       CLR_PDB_ID_BYTES - GUID_BYTES);
}

bool clr_image_packed_pdb(const struct clr_image *image, uint64_t *at, uint32_t *len)
{
	uint64_t entry;
	if (!find_debug_entry(image, DEBUG_IS_PACKED_PDB, &entry, at))
		return false;
	*len = clr_bytes_u32(image->bytes, entry + DEBUG_BYTES);
	return *len != 0;
}

void clr_image_put_pdb_path(const struct clr_image *image, struct str *out)
{
	uint64_t entry, data;
	if (find_debug_entry(image, DEBUG_IS_PDB, &entry, &data))
		clr_bytes_put_text(image->bytes, data + DEBUG_PATH, MAX_PATH_BYTES, out);
}
