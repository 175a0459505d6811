/*
 * What the BPF programs and the recorder say to each other of runtimes that
 * interpret programs (VMs): where the frames of the program, script frames, are
 * found, and what their functions are called.
 *
 * A runtime is a row of VM_KINDS: the step function of bpf/runtime/NAME/, what
 * that has to know of a file (NAME_row.h), and record/runtime/NAME/, which finds
 * it out.
 */
#ifndef EBPROF_VM_H
#define EBPROF_VM_H

#include "bpf/runtime/lua/lua_row.h"
#include "bpf/runtime/luajit/luajit_row.h"
#include "bpf/runtime/perl/perl_row.h"
#include "bpf/runtime/php/php_row.h"
#include "bpf/runtime/python/python_row.h"
#include "bpf/runtime/ruby/ruby_row.h"
#include "bpf/runtime/shadow_place.h"

/* X(constant, number, name) */
#define VM_KINDS(X) \
	X(VM_PYTHON, 1, python) \
	X(VM_RUBY, 2, ruby) \
	X(VM_PHP, 3, php) \
	X(VM_PERL, 4, perl) \
	X(VM_LUA, 5, lua) \
	X(VM_LUAJIT, 6, luajit)

enum vm_kind {
	VM_NONE = 0,
#define X(constant, number, name) constant = number,
	VM_KINDS(X)
#undef X
	VM_KINDS_END, /* behind the last */
};

enum {
	VM_MAX_ROWS = 256, /* files with a runtime */

	/* The word of a script frame, below its kind and its flag: the number of its code, and
	 * where in that. Number 0: there is none, and the place says of which runtime and why. */
	VM_FRAME_CODE_SHIFT = 28,
	VM_FRAME_CODE_BITS = 28,
	VM_FRAME_FAILED_KIND_SHIFT = 8,

	VM_VERSION_LINES = 255, /* of code whose places are lines already */
	VM_UNIT_UTF8 = 0,       /* no bytes a character, but bytes as they are */

	VM_MAX_NAME_BYTES = 512,
	VM_MAX_FILE_BYTES = 1024,
	VM_MAX_LINE_BYTES = 4096,
	VM_MAX_TEXT_BYTES = VM_MAX_NAME_BYTES + VM_MAX_FILE_BYTES + VM_MAX_LINE_BYTES,
};

/* Why there is no script frame, or one without a name: numbers of the recording, too. */
enum vm_failure {
	VM_FAILED_STATE = 1,      /* the thread's state was not found */
	VM_FAILED_UNREADABLE = 2, /* a frame, or its code */
	VM_FAILED_TORN = 3,     /* what should be code is none: caught in the middle of a change */
	VM_FAILED_NAME = 4,     /* the code has no name that could be read */
	VM_FAILED_PENDING = 5,  /* the recorder did not know yet that there is an interpreter */
	VM_FAILED_NUMBER = 6,   /* no number for the code: they are used up, or the ring is full */
	VM_FAILED_DEEP = 7,     /* frames of a shadow stack that were too deep to be kept */
	VM_FAILED_GIVEN_UP = 8, /* the recorder gave up reading the name */
};

/* Of each file with a runtime, by the number in its struct unwind_file. */
struct vm_row {
	unsigned int kind;    /* enum vm_kind */
	unsigned int unknown; /* of VM_NONE: the kind of what is of an unknown version */
	union {
		struct python_vm python;
		struct ruby_vm ruby;
		struct php_vm php;
		struct perl_vm perl;
		struct lua_vm lua;
		struct luajit_vm luajit;
		unsigned long long words[15];
	};
};

_Static_assert(sizeof(struct vm_row) == 128, "the map of rows is an array of these");

/* What texts an event_vm_code has, in their order. */
enum vm_text {
	VM_TEXT_NAME,
	VM_TEXT_FILE,
	VM_TEXT_LINES, /* from places in the code to lines */
	VM_TEXTS
};

/*
 * The first frame ever seen of this code: from now on it goes by this number. Its texts follow,
 * one behind the other, as they stood in the process's memory.
 */
struct event_vm_code {
	unsigned int type; /* EVENT_VM_CODE */
	unsigned int number;
	unsigned int pid;
	unsigned char kind; /* enum vm_kind */
	unsigned char version;
	unsigned char unit[2]; /* of the name and the file's name: bytes a character, or UTF-8 */
	unsigned long long time_ns;
	unsigned int first_line;
	unsigned int bytes[VM_TEXTS];       /* 0: could not be read */
	unsigned int whole_bytes[VM_TEXTS]; /* what there is at `address`; 0: not known */
	unsigned int zero;
	unsigned long long address[VM_TEXTS];
};

_Static_assert(sizeof(struct event_vm_code) == 80, "wire size");

#endif
