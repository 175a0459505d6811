/*
 * What Perl's subs and files are called, and what is sent of them; bpf/runtime/perl/perl.bpf.h
 * finds them.
 *
 * Sources: sv.h, cv.h, gv.h, hv.h, cop.h of Perl 5.28.0, 5.32.1, 5.36.0, 5.40.1.
 */
#ifndef EBPROF_PERL_CODE_BPF_H
#define EBPROF_PERL_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/perl/perl_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

struct perl_walk {
	__u64 interpreter;
	__u64 contexts; /* of the stack at hand, whose next outer one is number `index` */
	__u64 outer;    /* the stack that was in use before; 0: this is the first */
	__u64 cop;      /* of the statement at hand in the next frame */
	__u64 env;      /* the innermost JMPENV that no loop so far lay below */
	__s32 index;
	__s32 type;       /* PERLSI_ of the stack at hand */
	__u8 has_own_env; /* the loop of the last frames began with a JMPENV of its own */
	__u8 is_done;     /* there are no more frames */
	__u8 what;        /* enum perl_code */
	__u64 code;       /* what is sent: a cv, or the name of a module as an sv */
	__u64 file;       /* a C string */
	__u64 context[PERL_CONTEXT_BYTES / 8];
	__u64 window[PERL_WINDOW_CONTEXTS * PERL_CONTEXT_BYTES / 8]; /* of contexts as they lie */
	__u64 window_of;                 /* their stack; 0: none was read */
	__s32 window_first;              /* the number of the outermost one in it */
	__u64 body_of;                   /* the cv, and in bit 0 whether as a sub; 0: none */
	__u64 body[PERL_BODY_WORDS];     /* of that */
	__u64 text[PERL_FILE_BYTES / 8]; /* how the file's name begins */
};

_Static_assert(sizeof(struct perl_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct perl_walk *perl_walk(const struct runtime_walk *runtime)
{
	return (struct perl_walk *)runtime->words;
}

static __always_inline const struct perl_row *perl_row(const struct runtime_walk *runtime)
{
	return (const struct perl_row *)runtime->row.words;
}

#define PERL_FILE_OF_EVAL 0x206c61766528ULL /* "(eval ", then a number and ")" */

enum {                    /* the same in all versions; offsets are bytes */
	PERL_OP = 8,      /* PL_op in the interpreter */
	PERL_SAVES = 40,  /* PL_savestack */
	PERL_STACKS = 48, /* how much of a PERL_SI is read */
	PERL_SORT = 3,    /* PERLSI_SORT, PERLSI_MULTICALL */
	PERL_MULTICALL = 10,
	PERL_SAVE_MASK = 0x3f, /* what is saved, of the word that says so */

	PERL_SUB = 9, /* CXt_ */
	PERL_FORMAT = 10,
	PERL_EVAL = 11,
	PERL_DEFER = 13,
	PERL_TYPE_MASK = 15,
	PERL_IS_BLOCK = 0x40, /* CXp_TRYBLOCK, of an eval */
	PERL_IN_REGEX = 0x40, /* CXp_SUB_RE, of a sub */
	PERL_IS_SAME = 0x80,  /* CXp_SUB_RE_FAKE: code that is part of the sub around it */
	PERL_OLD_COP = 2,     /* words of a context */
	PERL_RETURN = 6,

	PERL_IS_CV = 13, /* SVt_ */
	PERL_IS_FORMAT = 14,
	PERL_IS_GV = 9,
	PERL_CV_STASH = 0, /* words of a cv's body as it is read */
	PERL_CV_START = 1,
	PERL_CV_ROOT = 2,
	PERL_CV_GV = 3,
	PERL_CV_FILE = 4,
	PERL_CV_FLAGS = 7, /* the upper half; the lower is the sequence number */
	PERL_CV_DEPTH = 8,
	PERL_CV_IS_C = 0x8, /* CVf_ISXSUB */
	PERL_CV_HAS_NAME = 0x8000,
	PERL_CV_IS_LEXICAL = 0x10000,

	PERL_OP_FUNCTION = 16,
	PERL_COP_LINE = 36,
	PERL_COP_FILE = 48,
	PERL_MAX_LINE = 1 << 24,
};

enum perl_code {
	PERL_CODE_SUB,
	PERL_CODE_MAIN,
	PERL_CODE_STRING, /* eval "" */
	PERL_CODE_MODULE, /* require, do */
};

/* ---- names ---- */

/* The bytes of a string with a hash in front, behind the `at` that there are. 0: unreadable. */
static __always_inline __u32 append_hek(struct runtime_record *record, __u32 at, __u64 hek)
{
	enum {
		MAX_BYTES = 240 /* of a name's two parts */
	};
	__u32 head[2] = {};
	__u8 flags = 0;
	if (!hek || bpf_probe_read_user(head, sizeof(head), (const void *)hek))
		return 0;
	__u64 bytes = head[1], start = at;
	asm volatile("" : "+r"(bytes), "+r"(start));
	if (!bytes || bytes > MAX_BYTES || start > MAX_BYTES + 8 ||
		bpf_probe_read_user(record->text + start, bytes, (const void *)(hek + 8)) ||
		bpf_probe_read_user(&flags, 1, (const void *)(hek + 8 + bytes + 1)))
		return 0;
	if (flags & 1) /* HVhek_UTF8 */
		record->head.unit[RUNTIME_TEXT_NAME] = RUNTIME_UNIT_UTF8;
	return at + bytes;
}

/* Where the name of a stash is. 0: it has none. */
static __always_inline __u64 name_of_stash(const struct perl_row *row, __u64 stash)
{
	__u64 body, at, max, name, count;
	if (!stash || !read_word(stash, &body))
		return 0;
	at = body + 32; /* struct xpvhv_aux, behind struct xpvhv */
	if (!row->stash_name_is_inside) {
		if (!read_word(body + 24, &max) || !read_word(stash + 16, &at))
			return 0;
		at += (max + 1) * 8;
	}
	if (!read_word(at, &name) || !read_word(at + 24, &count))
		return 0;
	if (count >> 32 && !read_word(name, &name)) /* the first of several */
		return 0;
	return name;
}

static __always_inline bool is_gv(__u64 gv)
{
	__u64 flags;
	return gv && read_word(gv + 8, &flags) && (__u8)(flags >> 32) == PERL_IS_GV;
}

/* The name of a cv, and the stash that it is shown in: 0, of none. */
static __always_inline __u64 name_of_cv(const struct perl_walk *perl, __u64 *stash)
{
	__u64 gv = perl->body[PERL_CV_GV], group, original, body, name;
	__u32 flags = perl->body[PERL_CV_FLAGS] >> 32;
	*stash = flags & PERL_CV_IS_LEXICAL ? 0 : perl->body[PERL_CV_STASH];
	if (flags & PERL_CV_HAS_NAME)
		return gv; /* not a gv, but the name itself */
	if (!is_gv(gv))
		return 0;
	if (read_word(gv + 16, &group) && group && read_word(group + 56, &original) &&
		is_gv(original))
		gv = original;
	if (!read_word(gv, &body) || !read_word(body + 32, &name) || !read_word(body + 40, stash))
		return 0;
	return name;
}

/* How long the name is; 0: it cannot be read. */
static __always_inline __u32 append_cv_name(
	struct runtime_record *record, const struct perl_row *row, const struct perl_walk *perl)
{
	__u64 stash = 0, name = name_of_cv(perl, &stash);
	__u32 at = 0;
	if (stash) {
		at = append_hek(record, 0, name_of_stash(row, stash));
		if (!at || at > RUNTIME_MAX_NAME_BYTES / 2)
			return 0;
		record->text[at] = record->text[at + 1] = ':';
		at += 2;
	}
	return append_hek(record, at, name);
}

/* "require Module.pm" */
static __always_inline __u32 append_module(struct runtime_record *record, __u64 name)
{
	static const char require[] = "require ";
	enum {
		START = sizeof(require) - 1,
		MAX_BYTES = 256
	};
	__u64 text;
	__builtin_memcpy(record->text, require, START);
	if (!read_word(name + 16, &text))
		return 0;
	long bytes = bpf_probe_read_user_str(record->text + START, MAX_BYTES, (const void *)text);
	return bytes > 1 && bytes <= MAX_BYTES ? START + bytes - 1 : 0;
}

static __always_inline __u32 append_name(
	struct runtime_record *record, const struct perl_row *row, const struct perl_walk *perl)
{
	switch (perl->what) {
	case PERL_CODE_SUB:
		return append_cv_name(record, row, perl);
	case PERL_CODE_MODULE:
		return append_module(record, perl->code);
	case PERL_CODE_STRING:
		__builtin_memcpy(record->text, "(eval)", 6);
		return 6;
	default:
		__builtin_memcpy(record->text, "<main>", 6);
		return 6;
	}
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int perl_send_code(__u64 identity);
__noinline int perl_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_PERL);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct perl_row *row = perl_row(&scratch->walk.runtime);
	const struct perl_walk *perl = perl_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	head->version = row->version;
	head->first_line = 0;
	head->unit[RUNTIME_TEXT_NAME] = 1;
	head->unit[RUNTIME_TEXT_FILE] = RUNTIME_UNIT_UTF8;
	__u32 at = append_name(record, row, perl);
	head->bytes[RUNTIME_TEXT_NAME] = head->whole_bytes[RUNTIME_TEXT_NAME] = at;
	head->address[RUNTIME_TEXT_NAME] = perl->code;
	if (perl->what == PERL_CODE_MODULE)
		head->unit[RUNTIME_TEXT_NAME] = RUNTIME_UNIT_UTF8;
	at = append_c_text(record, at, RUNTIME_TEXT_FILE, perl->file, RUNTIME_MAX_FILE_BYTES);
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	head->address[RUNTIME_TEXT_LINES] = 0;
	bool is_whole = head->bytes[RUNTIME_TEXT_NAME] && head->bytes[RUNTIME_TEXT_FILE];
	return send_code(scratch, record, at, is_whole, identity);
}

#endif
