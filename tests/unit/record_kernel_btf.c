/* Which of the kernel's types are chosen, and that bytes without sense are refused. */
#include <bpf/btf.h>
#include <linux/btf.h>
#include <string.h>

#include "record/host/kernel_btf.h"
#include "tests/unit/unit.h"

/*
 * struct task { unsigned long state; struct where where[4]; struct other *other; };
 * of which the programs know a flavour, and other things that they do not know.
 */
static struct btf *make_kernel(void)
{
	struct btf *kernel = btf__new_empty();
	int number = btf__add_int(kernel, "unsigned long", 8, 0);
	int other = btf__add_struct(kernel, "other", 8);
	btf__add_field(kernel, "number", number, 0, 0);
	int to_other = btf__add_ptr(kernel, other);
	btf__add_func_proto(kernel, other);
	int offset = btf__add_typedef(kernel, "offset_t", btf__add_const(kernel, number));
	int where = btf__add_union(kernel, "where", 8);
	btf__add_field(kernel, "offset", offset, 0, 0);
	int array = btf__add_array(kernel, number, where, 4);
	btf__add_struct(kernel, "task", 48);
	btf__add_field(kernel, "state", number, 0, 0);
	btf__add_field(kernel, "where", array, 64, 0);
	btf__add_field(kernel, "other", to_other, 320, 0);
	btf__add_enum64(kernel, "helpers", 8, false);
	btf__add_enum64_value(kernel, "HELPER_ONE", 1);
	btf__add_typedef(kernel, "task", number); /* the kind counts */
	return kernel;
}

static struct btf *make_wanted(void)
{
	struct btf *wanted = btf__new_empty();
	btf__add_struct(wanted, "task___5_10", 0);
	btf__add_enum(wanted, "helpers___x", 4);
	btf__add_struct(wanted, "not_there", 0);
	return wanted;
}

static bool select_from(const struct btf *kernel, struct bytes_buf *ret)
{
	struct btf *wanted = make_wanted();
	uint32_t len;
	const void *bytes = btf__raw_data(kernel, &len);
	bool is_selected = kernel_btf_select(bytes, len, wanted, ret);
	btf__free(wanted);
	return is_selected;
}

static const struct btf_type *find_type(const struct btf *types, const char *name, unsigned kind)
{
	int id = btf__find_by_name_kind(types, name, kind);
	return id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
}

TEST(kernel_btf_has_what_is_wanted_and_its_parts)
{
	struct btf *kernel = make_kernel();
	struct bytes_buf bytes = {0};
	CHECK(select_from(kernel, &bytes));
	struct btf *chosen = btf__new(bytes.data, (uint32_t)bytes.len);
	CHECK(chosen);
	/* task, helpers, number, array, where, offset_t, const, a pointer */
	CHECK_INT(btf__type_cnt(chosen), 9);
	const struct btf_type *task = find_type(chosen, "task", BTF_KIND_STRUCT);
	CHECK(task);
	CHECK_INT(task->size, 48);
	const struct btf_member *members = btf_members(task);
	CHECK_STR(btf__name_by_offset(chosen, members[1].name_off), "where");
	CHECK_INT(members[1].offset, 64);
	const struct btf_type *array = btf__type_by_id(chosen, members[1].type);
	CHECK(btf_is_array(array));
	CHECK_INT(btf__resolve_size(chosen, btf_array(array)->type), 8);
	const struct btf_type *pointer = btf__type_by_id(chosen, members[2].type);
	CHECK(btf_is_ptr(pointer));
	CHECK_INT(pointer->type, 0);
	CHECK(find_type(chosen, "helpers", BTF_KIND_ENUM64));
	CHECK(find_type(chosen, "where", BTF_KIND_UNION));
	CHECK(!find_type(chosen, "other", BTF_KIND_STRUCT));
	CHECK(!find_type(chosen, "task", BTF_KIND_TYPEDEF));
	btf__free(chosen);
	btf__free(kernel);
	bytes_buf_deinit(&bytes);
}

TEST(kernel_btf_refuses_what_it_does_not_know)
{
	struct btf *kernel = make_kernel(), *wanted = make_wanted();
	struct bytes_buf bytes = {0};
	uint32_t len;
	const void *whole = btf__raw_data(kernel, &len);
	uint8_t *copy = mem_alloc(len);
	for (uint32_t cut = 0; cut < len; cut++) {
		uint8_t *part = mem_alloc(cut + 1); /* so that a sanitizer sees its end */
		memcpy(part, whole, cut);
		CHECK(!kernel_btf_select(part, cut, wanted, &bytes));
		mem_free(part);
	}
	memcpy(copy, whole, len);
	struct btf_type *first = (void *)(copy + sizeof(struct btf_header));
	first->info = 31U << 24; /* a kind of the future */
	CHECK(!kernel_btf_select(copy, len, wanted, &bytes));
	memcpy(copy, whole, len);
	copy[0] ^= 1;
	CHECK(!kernel_btf_select(copy, len, wanted, &bytes));
	CHECK_INT(bytes.len, 0);
	mem_free(copy);
	btf__free(wanted);
	btf__free(kernel);
}
