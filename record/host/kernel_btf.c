#include "record/host/kernel_btf.h"

#include <bpf/btf.h>
#include <linux/btf.h>
#include <string.h>

#include "format/base/fd.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/host/proc.h"

enum {
	MAX_TYPES = 16 << 20, /* a hundred times what there are */
	KINDS = BTF_KIND_ENUM64 + 1,
};

/* The whole BTF, and the choice. */
struct selection {
	const uint8_t *types; /* of types_len bytes */
	const char *names;    /* the last byte is 0 */
	size_t types_len, names_len;
	VEC(uint32_t) places; /* of each type, in `types`; that of 0, which is void, counts not */
	struct map wanted;    /* hashes of kind and name */
	uint64_t seed;
	VEC(uint32_t) chosen;     /* types, in the order of their new numbers, which begin with 1 */
	VEC(uint32_t) new_number; /* of each type; 0: not chosen */
};

/* ---- the layout of a type ---- */

static unsigned kind_of(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info);
}

/* How many bytes each of its members has, of which there are vlen, and what follows them. */
static const struct kind_layout {
	uint8_t member_bytes, more_bytes;
	bool is_found_by_name;
} kind_layouts[KINDS] = {
	[BTF_KIND_INT] = {0, 4, true},
	[BTF_KIND_ARRAY] = {0, sizeof(struct btf_array), false},
	[BTF_KIND_STRUCT] = {sizeof(struct btf_member), 0, true},
	[BTF_KIND_UNION] = {sizeof(struct btf_member), 0, true},
	[BTF_KIND_ENUM] = {sizeof(struct btf_enum), 0, true},
	[BTF_KIND_FWD] = {0, 0, true},
	[BTF_KIND_TYPEDEF] = {0, 0, true},
	[BTF_KIND_FUNC_PROTO] = {sizeof(struct btf_param), 0, false},
	[BTF_KIND_VAR] = {0, sizeof(struct btf_var), false},
	[BTF_KIND_DATASEC] = {sizeof(struct btf_var_secinfo), 0, false},
	[BTF_KIND_FLOAT] = {0, 0, true},
	[BTF_KIND_DECL_TAG] = {0, sizeof(struct btf_decl_tag), false},
	[BTF_KIND_ENUM64] = {sizeof(struct btf_enum64), 0, true},
};

static size_t type_bytes(const struct btf_type *type)
{
	const struct kind_layout *layout = &kind_layouts[kind_of(type)];
	return sizeof(*type) + layout->member_bytes * (size_t)BTF_INFO_VLEN(type->info) +
	       layout->more_bytes;
}

static const struct btf_type *type_at(const struct selection *selection, uint32_t number)
{
	return (const void *)(selection->types + selection->places.data[number]);
}

/* ---- finding those with a wanted name ---- */

/* Without a flavour: x___y is x, as libbpf has it in bpf_core_essential_name_len(). */
static size_t plain_name_len(const char *name)
{
	size_t len = strlen(name);
	for (size_t i = len < 5 ? 0 : len - 4; i--;)
		if (name[i] != '_' && !memcmp(name + i + 1, "___", 3) && name[i + 4] != '_')
			return i + 1;
	return len;
}

static uint64_t hash_type(const struct selection *selection, unsigned kind, const char *name)
{
	bool is_enum = kind == BTF_KIND_ENUM64; /* libbpf takes one for the other */
	return map_hash_bytes(name, plain_name_len(name), selection->seed) +
	       (is_enum ? BTF_KIND_ENUM : kind);
}

static bool is_found_by_name(const struct btf_type *type)
{
	return kind_of(type) < KINDS && kind_layouts[kind_of(type)].is_found_by_name;
}

static void put_wanted(struct selection *selection, const struct btf *wanted)
{
	for (uint32_t i = 1; i < btf__type_cnt(wanted); i++) {
		const struct btf_type *type = btf__type_by_id(wanted, i);
		const char *name = btf__name_by_offset(wanted, type->name_off);
		if (is_found_by_name(type) && name && name[0])
			map_put(&selection->wanted, hash_type(selection, kind_of(type), name),
				NULL);
	}
}

/* Its number in the choice, which it is in from now on; 0 for what is not held by value. */
static uint32_t choose_type(struct selection *selection, uint32_t number)
{
	if (!number || number >= selection->places.len)
		return 0;
	unsigned kind = kind_of(type_at(selection, number));
	bool is_value = kind != BTF_KIND_FUNC && kind != BTF_KIND_FUNC_PROTO &&
			kind != BTF_KIND_VAR && kind != BTF_KIND_DATASEC &&
			kind != BTF_KIND_DECL_TAG;
	if (is_value && !selection->new_number.data[number]) {
		vec_push(&selection->chosen, number);
		selection->new_number.data[number] = (uint32_t)selection->chosen.len;
	}
	return selection->new_number.data[number];
}

static void choose_if_wanted(struct selection *selection, uint32_t number)
{
	const struct btf_type *type = type_at(selection, number);
	if (!is_found_by_name(type) || !type->name_off || type->name_off >= selection->names_len)
		return;
	const char *name = selection->names + type->name_off;
	if (map_get(&selection->wanted, hash_type(selection, kind_of(type), name)))
		choose_type(selection, number);
}

/* ---- reading the whole ---- */

static bool find_btf_parts(const uint8_t *bytes, size_t len, struct selection *ret)
{
	struct btf_header header;
	if (len < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != BTF_MAGIC || header.hdr_len < sizeof(header) || header.hdr_len > len)
		return false;
	size_t left = len - header.hdr_len;
	bool is_inside = header.type_off <= left && header.type_len <= left - header.type_off &&
			 header.str_off <= left && header.str_len <= left - header.str_off;
	if (!is_inside || header.type_off % 4 || header.hdr_len % 4 || !header.str_len)
		return false;
	ret->types = bytes + header.hdr_len + header.type_off;
	ret->types_len = header.type_len;
	ret->names = (const char *)bytes + header.hdr_len + header.str_off;
	ret->names_len = header.str_len;
	return !ret->names[ret->names_len - 1];
}

/* False: of a kind that is not known, behind which nothing can be found. */
static bool find_places(struct selection *selection)
{
	vec_push(&selection->places, 0);
	for (size_t at = 0; at < selection->types_len;) {
		const struct btf_type *type = (const void *)(selection->types + at);
		size_t left = selection->types_len - at;
		if (left < sizeof(*type) || kind_of(type) >= KINDS || left < type_bytes(type) ||
			selection->places.len > MAX_TYPES)
			return false;
		vec_push(&selection->places, (uint32_t)at);
		at += type_bytes(type);
	}
	vec_resize(&selection->new_number, selection->places.len);
	return true;
}

/* ---- writing the choice ---- */

static uint32_t put_btf_name(
	const struct selection *selection, uint32_t offset, struct bytes_buf *names)
{
	if (!offset || offset >= selection->names_len)
		return 0;
	const char *name = selection->names + offset;
	uint32_t at = (uint32_t)names->len;
	bytes_put(names, name, strlen(name) + 1);
	return at;
}

/* Those that it holds by value are chosen, too, and get a number. */
static void renumber_parts(struct selection *selection, struct btf_type *type)
{
	struct btf_array *array = (void *)(type + 1);
	struct btf_member *members = (void *)(type + 1);
	switch (kind_of(type)) {
	case BTF_KIND_ARRAY:
		array->type = choose_type(selection, array->type);
		array->index_type = choose_type(selection, array->index_type);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (unsigned i = 0; i < BTF_INFO_VLEN(type->info); i++)
			members[i].type = choose_type(selection, members[i].type);
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		type->type = choose_type(selection, type->type);
		break;
	case BTF_KIND_PTR:
		type->type = 0;
		break;
	default: /* has a size there */
		break;
	}
}

/* Members begin with the offset of their name, as constants of an enum do. */
static void rename_members(
	const struct selection *selection, struct btf_type *type, struct bytes_buf *names)
{
	const struct kind_layout *layout = &kind_layouts[kind_of(type)];
	uint8_t *member = (uint8_t *)(type + 1);
	for (unsigned i = 0; layout->member_bytes && i < BTF_INFO_VLEN(type->info); i++) {
		uint32_t name;
		memcpy(&name, member, sizeof(name));
		name = put_btf_name(selection, name, names);
		memcpy(member, &name, sizeof(name));
		member += layout->member_bytes;
	}
}

static void put_btf_type(struct selection *selection, uint32_t number, struct bytes_buf *types,
	struct bytes_buf *names)
{
	const struct btf_type *whole = type_at(selection, number);
	size_t at = types->len;
	bytes_put(types, whole, type_bytes(whole));
	struct btf_type *type = (void *)(types->data + at);
	type->name_off = put_btf_name(selection, type->name_off, names);
	rename_members(selection, type, names);
	renumber_parts(selection, type);
}

static void put_choice(struct selection *selection, struct bytes_buf *ret)
{
	struct bytes_buf types = {0}, names = {0};
	bytes_put_u8(&names, 0);
	for (size_t i = 0; i < selection->chosen.len; i++) /* there become more meanwhile */
		put_btf_type(selection, selection->chosen.data[i], &types, &names);
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)types.len,
		.str_off = (uint32_t)types.len,
		.str_len = (uint32_t)names.len,
	};
	bytes_put(ret, &header, sizeof(header));
	bytes_put(ret, types.data, types.len);
	bytes_put(ret, names.data, names.len);
	bytes_buf_deinit(&types);
	bytes_buf_deinit(&names);
}

static void selection_deinit(struct selection *selection)
{
	vec_deinit(&selection->places);
	vec_deinit(&selection->chosen);
	vec_deinit(&selection->new_number);
	map_deinit(&selection->wanted);
}

bool kernel_btf_select(
	const void *bytes, size_t len, const struct btf *wanted, struct bytes_buf *ret)
{
	CLEANUP(selection_deinit) struct selection selection = {.seed = map_random_seed()};
	if (!find_btf_parts(bytes, len, &selection) || !find_places(&selection))
		return false;
	put_wanted(&selection, wanted);
	for (uint32_t i = 1; i < selection.places.len; i++)
		choose_if_wanted(&selection, i);
	put_choice(&selection, ret);
	return true;
}

bool kernel_btf_write(int fd, const struct btf *wanted)
{
	CLEANUP(str_deinit) struct str whole = {0};
	CLEANUP(bytes_buf_deinit) struct bytes_buf choice = {0};
	if (!proc_read_file("/sys/kernel/btf/vmlinux", &whole) ||
		!kernel_btf_select(whole.data, whole.len, wanted, &choice))
		return false;
	struct err *err = fd_write_all(fd, choice.data, choice.len);
	bool is_written = !err;
	err_destroy(err);
	return is_written;
}
