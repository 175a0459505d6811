#include "format/clr/clr_ready.h"

#include "format/clr/clr_names.h"
#include "format/clr/clr_signature.h"

enum {
	MAX_METHODS = 1 << 21,
	ARRAY_BLOCK = 16, /* methods that share a tree */
	MAX_BUCKETS = 1 << 16,
	MAX_FUNCLETS = 4096, /* behind their method */
	IS_INSTANCE_SHIFT = 63,
	FIRST_MAJOR_WITH_BITS = 16, /* of the image's format: .NET 10 */

	/* A method with arguments: "Method signature encoding". */
	METHOD_HAS_SLOT = 0x08,
	METHOD_IS_MEMBER_REF = 0x10,
	METHOD_HAS_ARGUMENTS = 0x04,
	METHOD_IS_CONSTRAINED = 0x20,
	METHOD_HAS_OWNER = 0x40,
	METHOD_IS_OF_MODULE = 0x80,
	MAX_ARGUMENTS = 64,
	MEMBER_REF_PARENT = 0, /* columns */
	MEMBER_REF_NAME = 1,
	PARENT_SHIFT = 3,
};

static const uint64_t is_instance = 1ULL << IS_INSTANCE_SHIFT; /* where its signature is */

/* ---- integers of the native format ---- */

/* How long one is, the zeros and ones at its first byte's low end say. */
static uint32_t native_length(uint8_t first)
{
	return !(first & 1) ? 1 : !(first & 2) ? 2 : !(first & 4) ? 3 : !(first & 8) ? 4 : 5;
}

static uint32_t native_u32(struct clr_bytes *bytes, uint64_t *at)
{
	uint32_t len = native_length(clr_bytes_u8(bytes, *at)), value = 0;
	for (uint32_t i = 0; i < len && len < 5; i++)
		value |= (uint32_t)clr_bytes_u8(bytes, *at + i) << (8 * i);
	value = len < 5 ? value >> len : clr_bytes_u32(bytes, *at + 1);
	*at += len;
	return value;
}

static int32_t native_s32(struct clr_bytes *bytes, uint64_t *at)
{
	uint64_t before = *at;
	uint32_t value = native_u32(bytes, at), len = (uint32_t)(*at - before);
	uint32_t bits = 7 * len;
	if (len == 5)
		return (int32_t)value;
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* ---- from methods to functions ---- */

/* The entry of a function: its index, and whether something is to be made ready for it. */
static uint32_t function_of_entry(uint32_t entry)
{
	return entry & 1 ? entry >> 2 : entry >> 1;
}

static void note_method(struct clr_ready *ready, uint32_t function, uint64_t method)
{
	if (function < ready->methods.len && !ready->methods.data[function])
		ready->methods.data[function] = method;
}

/*
 * The entry of one method: each block of 16 has a tree, whose branches are taken by the bits of the
 * index. 0: it has none.
 */
static uint64_t find_in_array(
	struct clr_bytes *bytes, uint64_t table, uint32_t width, uint32_t index)
{
	uint64_t slot = table + (uint64_t)(index / ARRAY_BLOCK << width);
	uint32_t offset = width == 0   ? clr_bytes_u8(bytes, slot)
			  : width == 1 ? clr_bytes_u16(bytes, slot)
				       : clr_bytes_u32(bytes, slot);
	uint64_t at = table + offset;
	for (uint32_t bit = ARRAY_BLOCK / 2; bit; bit >>= 1) {
		uint64_t behind = at;
		uint32_t value = native_u32(bytes, &behind);
		if (index & bit && value & 2)
			at += value >> 2;
		else if (!(index & bit) && value & 1)
			at = behind;
		else
			return !(value & 3) && value >> 2 == (index & (ARRAY_BLOCK - 1)) ? behind
											 : 0;
	}
	return at;
}

static void take_methods(struct clr_ready *ready)
{
	struct clr_bytes *bytes = ready->image->bytes;
	uint64_t at = ready->image->ready[CLR_READY_METHODS].at;
	if (!at)
		return;
	uint32_t head = native_u32(bytes, &at), count = head >> 2;
	uint64_t most = (uint64_t)ARRAY_BLOCK * ready->image->ready[CLR_READY_METHODS].len;
	most = most < ARRAY_BLOCK * bytes->size ? most : ARRAY_BLOCK * bytes->size;
	count = count < most ? count : (uint32_t)most;
	for (uint32_t i = 0; i < count && i < MAX_METHODS && !bytes->is_bad; i++) {
		uint64_t entry = find_in_array(bytes, at, head & 3, i);
		if (entry)
			note_method(ready, function_of_entry(native_u32(bytes, &entry)), i + 1);
	}
}

/* ---- methods with arguments ---- */

struct instance {
	struct clr_owner owner; /* what it belongs to, if that is said */
	bool has_owner, is_member_ref;
	uint32_t row;
	struct clr_arguments arguments;
	uint32_t function;
};

static void instance_deinit(struct instance *instance)
{
	clr_owner_deinit(&instance->owner);
	clr_arguments_deinit(&instance->arguments);
}

static bool take_instance_arguments(
	const struct clr_metadata *metadata, uint64_t *at, struct clr_arguments *ret)
{
	uint32_t count = clr_bytes_packed(metadata->bytes, at);
	for (uint32_t i = 0; i < count && count <= MAX_ARGUMENTS; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		if (!clr_signature_put_type(metadata, at, &name))
			return false;
		clr_arguments_add(ret, str_text(&name));
	}
	return count <= MAX_ARGUMENTS;
}

/* False: it is not understood, or another module's. */
static bool take_instance(const struct clr_metadata *metadata, uint64_t at, struct instance *ret)
{
	struct clr_bytes *bytes = metadata->bytes;
	uint32_t flags = clr_bytes_packed(bytes, &at);
	CLEANUP(str_deinit) struct str constrained = {0};
	*ret = (struct instance){.has_owner = flags & METHOD_HAS_OWNER,
		.is_member_ref = flags & METHOD_IS_MEMBER_REF};
	if (flags & (METHOD_IS_OF_MODULE | METHOD_HAS_SLOT))
		return false;
	if (ret->has_owner && !clr_signature_take_owner(metadata, &at, &ret->owner))
		return false;
	ret->row = clr_bytes_packed(bytes, &at);
	if (flags & METHOD_HAS_ARGUMENTS &&
		!take_instance_arguments(metadata, &at, &ret->arguments))
		return false;
	if (flags & METHOD_IS_CONSTRAINED && !clr_signature_put_type(metadata, &at, &constrained))
		return false;
	ret->function = function_of_entry(native_u32(bytes, &at));
	return !bytes->is_bad;
}

/* A bucket's entries: a byte of the hash, and how far it is to the signature. */
static void take_bucket(struct clr_ready *ready, uint64_t at, uint64_t end)
{
	struct clr_bytes *bytes = ready->image->bytes;
	while (at < end && !bytes->is_bad) {
		uint64_t entry = ++at;
		entry += (uint64_t)(int64_t)native_s32(bytes, &at);
		struct instance instance;
		if (take_instance(&ready->image->metadata, entry, &instance))
			note_method(ready, instance.function, entry | is_instance);
		instance_deinit(&instance);
	}
}

static void take_instances(struct clr_ready *ready)
{
	struct clr_bytes *bytes = ready->image->bytes;
	uint64_t at = ready->image->ready[CLR_READY_INSTANCES].at;
	if (!at)
		return;
	uint8_t head = clr_bytes_u8(bytes, at++);
	uint32_t width = head & 3, count = 1U << (head >> 2 & 31);
	uint64_t before = 0;
	for (uint32_t i = 0; i <= count && i <= MAX_BUCKETS && !bytes->is_bad; i++) {
		uint64_t slot = at + ((uint64_t)i << width);
		uint64_t end = at + (width == 0          ? clr_bytes_u8(bytes, slot)
					    : width == 1 ? clr_bytes_u16(bytes, slot)
							 : clr_bytes_u32(bytes, slot));
		if (i)
			take_bucket(ready, before, end);
		before = end;
	}
}

/* ---- names ---- */

void clr_ready_init(struct clr_ready *ready, const struct clr_image *image)
{
	*ready = (struct clr_ready){.image = image};
	vec_resize(&ready->methods, clr_image_count_functions(image));
	take_methods(ready);
	take_instances(ready);
}

void clr_ready_deinit(struct clr_ready *ready)
{
	vec_deinit(&ready->methods);
}

/* What belongs to another module is called by the name that is used of it here. */
static bool put_member_ref(
	const struct clr_metadata *metadata, const struct instance *instance, struct str *out)
{
	CLEANUP(clr_owner_deinit) struct clr_owner parent = {0};
	CLEANUP(str_deinit) struct str name = {0};
	const struct clr_owner *owner = &instance->owner;
	uint32_t token =
		clr_metadata_get(metadata, CLR_MEMBER_REF, instance->row, MEMBER_REF_PARENT);
	static const int8_t kinds[] = {0, 1, -1, -1, 2}; /* as a TypeDefOrRef has them */
	uint32_t kind = token & ((1 << PARENT_SHIFT) - 1);
	if (!instance->has_owner) {
		if (kind >= sizeof(kinds) || kinds[kind] < 0 ||
			!clr_signature_take_token(metadata,
				token >> PARENT_SHIFT << 2 | (uint32_t)kinds[kind], &parent))
			return false;
		owner = &parent;
	}
	if (owner->type)
		clr_names_put_type(metadata, owner->type, &owner->arguments, out);
	else
		clr_names_put_with(str_text(&owner->name), &owner->arguments, out);
	clr_metadata_put_string(metadata,
		clr_metadata_get(metadata, CLR_MEMBER_REF, instance->row, MEMBER_REF_NAME), &name);
	str_putc(out, '.');
	clr_names_put_readable(str_text(&name), name.len, out);
	return true;
}

static bool put_instance(const struct clr_metadata *metadata, uint64_t at, struct str *out)
{
	CLEANUP(instance_deinit) struct instance instance;
	if (!take_instance(metadata, at, &instance))
		return false;
	if (instance.is_member_ref)
		return put_member_ref(metadata, &instance, out);
	clr_names_put_method(
		metadata, instance.row, &instance.owner.arguments, &instance.arguments, out);
	return true;
}

/* The function itself, or the one whose funclet it is. False: there is none. */
static bool find_first(const struct clr_ready *ready, uint32_t function, uint32_t *ret)
{
	for (uint32_t i = 0; i < MAX_FUNCLETS && function < ready->methods.len; i++, function--)
		if (ready->methods.data[function]) {
			*ret = function;
			return true;
		}
	return false;
}

/* That of the function, or of the one whose funclet it is; 0: there is none. */
static uint64_t find_method(const struct clr_ready *ready, uint32_t function)
{
	uint32_t first;
	return find_first(ready, function, &first) ? ready->methods.data[first] : 0;
}

bool clr_ready_put_name(const struct clr_ready *ready, uint32_t function, struct str *out)
{
	uint64_t method = find_method(ready, function);
	size_t before = out->len;
	ready->image->bytes->is_bad = false; /* of another one's name */
	if (method & is_instance)
		return put_instance(&ready->image->metadata, method & ~is_instance, out);
	if (method)
		clr_names_put_method(&ready->image->metadata, (uint32_t)method, NULL, NULL, out);
	return out->len != before;
}

uint32_t clr_ready_method(const struct clr_ready *ready, uint32_t function)
{
	uint64_t method = find_method(ready, function);
	if (!(method & is_instance))
		return (uint32_t)method;
	CLEANUP(instance_deinit) struct instance instance;
	bool is_taken = take_instance(&ready->image->metadata, method & ~is_instance, &instance);
	return is_taken && !instance.is_member_ref ? instance.row : 0;
}

/* ---- from code to IL ---- */

/* From where the method begins up to the end of its last funclet. */
static uint32_t method_code_bytes(const struct clr_ready *ready, uint32_t first)
{
	uint32_t last = first;
	while (last + 1 < ready->methods.len && !ready->methods.data[last + 1] &&
		last - first < MAX_FUNCLETS)
		last++;
	uint32_t begin = clr_image_function(ready->image, first).begin,
		 end = clr_image_function(ready->image, last).end;
	return end > begin ? end - begin : 0;
}

bool clr_ready_debug_map(const struct clr_ready *ready, uint32_t function, uint32_t *first,
	struct clr_debug_map *ret)
{
	const struct clr_image *image = ready->image;
	struct clr_bytes *bytes = image->bytes;
	uint64_t table = image->ready[CLR_READY_DEBUG_INFO].at;
	if (!table || !find_first(ready, function, first))
		return false;
	bytes->is_bad = false; /* of another one's */
	uint32_t head = native_u32(bytes, &table);
	uint64_t entry = *first < head >> 2 ? find_in_array(bytes, table, head & 3, *first) : 0;
	if (!entry || bytes->is_bad)
		return false;
	/* Methods may share what is known of them: it stands that far ahead then. */
	uint64_t at = entry;
	uint32_t back = native_u32(bytes, &at);
	if (back > entry)
		return false;
	return clr_debug_map_read(bytes, back ? entry - back : at,
		image->ready_major >= FIRST_MAJOR_WITH_BITS ? CLR_DEBUG_BITS : CLR_DEBUG_NIBBLES,
		method_code_bytes(ready, *first), ret);
}
