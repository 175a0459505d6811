/* Trees of mappings, as the kernel's lib/maple_tree.c and mm/mmap.c leave them behind. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <string.h>

#include "tests/unit/emulate/flavours.bpf.h"
#include "tests/unit/emulate/memory.h"

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/task.h"

enum {
	LEAF_SLOTS = 16,
	ARANGE_SLOTS = 10,
	NODE_BITS = 4, /* MAPLE_ENODE_NULL */
	TYPE_SHIFT = 3,
	ROOT_BITS = 0x2,
	PAGE_BYTES = 4096,
};

static const uint64_t GARBAGE = 0xdead4ead00001000; /* in slots that are not in use */

/* ---- objects ---- */

uint64_t emulate_file(const struct emulated_file *file)
{
	struct super_block *block = emulate_kernel_memory(sizeof(*block));
	struct all_inode *inode = emulate_kernel_memory(sizeof(*inode));
	struct file *ret = emulate_kernel_memory(sizeof(*ret));
	block->s_dev = file->device;
	inode->now.i_sb = block;
	inode->now.i_ino = file->inode;
	inode->now.i_generation = file->generation;
	__s64 seconds = (__s64)(file->mtime_ns / 1000000000);
	__u32 nanoseconds = (__u32)(file->mtime_ns % 1000000000);
	if (emulated.release >= EMULATED_6_11) {
		inode->now.i_mtime_sec = seconds;
		inode->now.i_mtime_nsec = nanoseconds;
	} else if (emulated.release >= EMULATED_6_7) {
		inode->at_6_7.__i_mtime = (struct timespec64){seconds, nanoseconds};
	} else {
		inode->at_5_10.i_mtime = (struct timespec64){seconds, nanoseconds};
	}
	ret->f_inode = &inode->now;
	return (uint64_t)ret;
}

uint64_t emulate_vma(const struct emulated_vma *vma)
{
	struct all_vma *ret = emulate_kernel_memory(sizeof(*ret));
	ret->now.vm_mm = &emulate_mm()->now;
	ret->now.vm_lock_seq = (unsigned int)emulated.changes;
	ret->now.vm_start = vma->start;
	ret->now.vm_end = vma->end;
	ret->now.vm_flags = vma->is_executable ? VM_EXEC : 0;
	ret->now.vm_pgoff = vma->offset / PAGE_BYTES;
	ret->now.vm_file = vma->file ? (struct file *)emulate_file(vma->file) : NULL;
	ret->before = emulated.newest_vma;
	emulated.newest_vma = ret;
	return (uint64_t)ret;
}

/* ---- the maple tree ---- */

uint64_t emulate_node(const struct emulated_node *from)
{
	void *memory = emulate_kernel_memory(256);
	struct maple_range_64 *range = memory;
	struct maple_arange_64 *arange = memory;
	bool is_arange = from->type == EMULATED_MAPLE_ARANGE;
	for (uint32_t i = 0; i < from->nr_pivots; i++)
		*(is_arange ? &arange->pivot[i] : &range->pivot[i]) = from->pivots[i];
	for (uint32_t i = 0; i < (is_arange ? ARANGE_SLOTS : LEAF_SLOTS); i++) {
		uint64_t entry = i < from->nr_slots ? from->slots[i] : GARBAGE;
		*(is_arange ? &arange->slot[i] : &range->slot[i]) = (void *)entry;
	}
	return (uint64_t)memory | (uint64_t)from->type << TYPE_SHIFT | NODE_BITS;
}

void emulate_set_slot(uint64_t node, uint32_t slot, uint64_t entry)
{
	void *memory = (void *)(node & ~255ULL);
	bool is_arange = (node >> TYPE_SHIFT & 15) == EMULATED_MAPLE_ARANGE;
	struct maple_range_64 *range = memory;
	struct maple_arange_64 *arange = memory;
	*(is_arange ? &arange->slot[slot] : &range->slot[slot]) = (void *)entry;
}

void emulate_set_root(uint64_t entry)
{
	emulate_mm()->now.mm_mt.ma_root = (void *)entry;
}

/* What a slot holds, and the last address for which it does. */
struct item {
	uint64_t entry, last;
};

struct level {
	VEC(struct item) items;
};

static uint32_t max_depth;

static uint32_t slots_of(const struct emulated_shape *shape, enum emulated_maple type)
{
	uint32_t most = type == EMULATED_MAPLE_ARANGE ? ARANGE_SLOTS : LEAF_SLOTS;
	uint32_t wanted = type == EMULATED_MAPLE_LEAF ? shape->leaf_slots : shape->inner_slots;
	return wanted && wanted < most ? wanted : most;
}

/* A full node has no pivot for its last slot: where it ends is said above. */
static struct item make_node(const struct item *items, uint32_t count, enum emulated_maple type,
	const struct emulated_shape *shape)
{
	uint32_t pivots = type == EMULATED_MAPLE_ARANGE ? ARANGE_SLOTS - 1 : LEAF_SLOTS - 1;
	struct emulated_node node = {.type = type, .nr_slots = count};
	node.nr_pivots = count < pivots ? count : pivots;
	for (uint32_t i = 0; i < count; i++) {
		node.slots[i] = items[i].entry;
		if (i < pivots)
			node.pivots[i] = items[i].last;
	}
	if (shape->is_cut && count > 1 && count <= pivots)
		node.pivots[count - 1] = 0;
	return (struct item){emulate_node(&node), items[count - 1].last};
}

static void build_level(struct level *from, struct level *to, enum emulated_maple type,
	const struct emulated_shape *shape)
{
	uint32_t most = slots_of(shape, type);
	for (size_t i = 0; i < from->items.len; i += most) {
		size_t left = from->items.len - i;
		vec_push(&to->items, make_node(from->items.data + i,
					     (uint32_t)(left < most ? left : most), type, shape));
	}
	max_depth++;
}

static void list_items(struct level *level, const struct emulated_vma *vmas, size_t count)
{
	uint64_t end = 0;
	for (size_t i = 0; i < count; i++) {
		if (vmas[i].start > end)
			vec_push(&level->items, (struct item){0, vmas[i].start - 1});
		end = vmas[i].end;
		vec_push(&level->items, (struct item){emulate_vma(&vmas[i]), end - 1});
	}
	vec_push(&level->items, (struct item){0, UINT64_MAX});
}

static void build_maple_tree(
	const struct emulated_vma *vmas, size_t count, const struct emulated_shape *shape)
{
	struct level level = {0}, above = {0};
	enum emulated_maple type = EMULATED_MAPLE_LEAF;
	max_depth = 0;
	list_items(&level, vmas, count);
	while (type == EMULATED_MAPLE_LEAF || level.items.len > 1) {
		build_level(&level, &above, type, shape);
		type = shape->has_range_nodes ? EMULATED_MAPLE_RANGE : EMULATED_MAPLE_ARANGE;
		level.items.len = 0;
		vec_append(&level.items, above.items.data, above.items.len);
		above.items.len = 0;
	}
	emulate_set_root((level.items.data[0].entry & ~7ULL) | ROOT_BITS);
	vec_deinit(&level.items);
	vec_deinit(&above.items);
}

uint32_t emulate_depth(void)
{
	return max_depth;
}

/* ---- the red-black tree ---- */

static struct rb_node *build_rb_tree(const struct emulated_vma *vmas, size_t count)
{
	if (!count)
		return NULL;
	size_t middle = count / 2;
	struct all_vma *vma = (struct all_vma *)emulate_vma(&vmas[middle]);
	struct rb_node *node = &vma->at_5_10.vm_rb;
	node->rb_left = build_rb_tree(vmas, middle);
	node->rb_right = build_rb_tree(vmas + middle + 1, count - middle - 1);
	return node;
}

void emulate_rb_cycle(uint64_t vma, uint64_t other)
{
	struct rb_node *a = &((struct all_vma *)vma)->at_5_10.vm_rb;
	struct rb_node *b = &((struct all_vma *)other)->at_5_10.vm_rb;
	*a = (struct rb_node){b, b};
	*b = (struct rb_node){a, a};
	emulate_mm()->at_5_10.mm_rb.rb_node = a;
}

/* ---- either ---- */

void emulate_vma_change(uint64_t vma)
{
	((struct all_vma *)vma)->now.vm_lock_seq = (unsigned int)emulated.changes;
}

void emulate_vma_reuse(uint64_t vma)
{
	((struct all_vma *)vma)->now.vm_mm = NULL;
}

/*
 * The count is raised when all mappings are locked, and when they are free again; those that are
 * removed are marked first. mm/mmap_lock.c, __vma_start_write() (6.18).
 */
void emulate_shaped_mappings(
	const struct emulated_vma *vmas, size_t count, const struct emulated_shape *shape)
{
	emulated.changes++;
	for (struct all_vma *vma = emulated.newest_vma; vma; vma = vma->before)
		emulate_vma_change((uint64_t)vma);
	if (emulated.release == EMULATED_5_10)
		emulate_mm()->at_5_10.mm_rb.rb_node = build_rb_tree(vmas, count);
	else
		build_maple_tree(vmas, count, shape);
	emulated.changes++;
}

void emulate_mappings(const struct emulated_vma *vmas, size_t count, uint64_t vdso)
{
	static const struct emulated_shape full;
	emulate_mm()->now.context.vdso = (void *)vdso;
	emulate_shaped_mappings(vmas, count, &full);
}
