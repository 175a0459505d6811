/*
 * Code that processes made at run time and registered for debuggers, see registered_memory.h: the
 * names of its functions and the rules to leave their frames. A process is looked at when code of
 * no file is sampled in it that is not known yet; its list of images is read again when such code
 * is sampled later than that, and not more often than the list's length allows.
 *
 * An image holds from when it was in the list until it no longer is. Images come and go between
 * two looks, at the same addresses: the bytes of the code say which one a frame was in.
 */
#ifndef EBPROF_REGISTERED_CODE_H
#define EBPROF_REGISTERED_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/generated/code_place.h"
#include "record/generated/registered_memory.h"
#include "record/host/target_reader.h"
#include "record/task/object.h"

/* An image that was in a list. Times are CLOCK_MONOTONIC. */
struct registered_known {
	struct registered_entry entry;
	uint32_t descriptor;           /* whose list, by its index in the process */
	bool is_listed;                /* in the list that is being taken over */
	struct registered_image image; /* empty until it was read */
	bool is_read, is_given_up;
	uint8_t tries;                  /* to read it: it may change just then */
	uint64_t since_ns;              /* it was not there yet; 0: it was at the first look */
	uint64_t seen_ns, last_seen_ns; /* it was there */
	uint64_t gone_ns;               /* it was there no more; 0: it is */
};

/* A piece of code of an image that is there. */
struct registered_place {
	uint64_t start, end;
	uint32_t known; /* its index */
};

/* What a program image registered. */
struct registered_process {
	uint32_t pid;
	uint32_t nr_descriptors, nr_pending;
	struct registered_descriptor descriptors[REGISTERED_MAX_DESCRIPTORS];
	struct registered_head heads[REGISTERED_MAX_DESCRIPTORS];
	uint64_t begun_ns; /* when the look that is under way began */
	uint64_t known_ns; /* when the last one did; 0: there was none */
	uint64_t next_ns;  /* no look before that, ... */
	uint64_t soon_ns;  /* ... for a frame that nothing is known of, before this */
	uint64_t pause_ns; /* between the last one and that */
	uint32_t nr_finds; /* looks for registries, not only into them */
	uint64_t next_find_ns;
	bool has_new_file; /* mapped since the last of these */
	uint64_t cost_ns;  /* of the look that is under way, to the worker */
	bool is_changing;  /* a look found the list another one than the look before */
	bool is_compiler;  /* all code of no file is in a list, or will be */
	bool is_expected;  /* ... by what other processes of the same program were */
	bool was_same;     /* the look that is under way has found nothing new so far */
	bool has_news;     /* ... has read images */
	VEC(struct registered_known) known;  /* in the order of looks */
	VEC(struct registered_place) places; /* ascending */
};

/* A request that is under way. */
struct registered_job {
	uint32_t kind;    /* enum registered_request_kind */
	uint32_t process; /* its index; UINT32_MAX: it is over */
	uint32_t index;   /* of the descriptor, or the known image */
};

struct registered_code_statistics {
	uint64_t processes; /* with a descriptor */
	uint64_t read;      /* images */
	uint64_t given_up;  /* images, lists that go in circles, processes that took too long */
};

struct registered_code {
	struct target_reader reader;
	struct map by_object; /* serial -> index in `processes`, plus 1 */
	struct map programs;  /* serials of those whose processes are compilers */
	VEC(struct registered_process) processes;
	VEC(struct registered_job) jobs; /* in the reader's order, from `taken` on */
	size_t taken;
	VEC(uint32_t) news; /* processes of which images were read, see registered_code_collect() */
	uint64_t bytes;     /* of all images */
	uint64_t wanted_ns; /* when a frame last waited for a look that was not due */
	struct registered_code_statistics statistics;
};

void registered_code_init(struct registered_code *code);
void registered_code_deinit(struct registered_code *code);

/*
 * Code of no file was sampled at an address: by jit_table_object() its object says of which program
 * image. Begins to look at the process if what is known is older than that.
 */
void registered_code_meet(
	struct registered_code *code, const struct object *object, uint32_t pid, uint64_t time_ns);

/*
 * The program image was sampled, wherever: where images come and go it is looked at again. Of the
 * program's file, which may be NULL, it is remembered that its processes are compilers.
 */
void registered_code_follow(struct registered_code *code, const struct object *object,
	const struct object *program, uint64_t time_ns);
/* Whether processes of the program will have code that they register, as others had. */
bool registered_code_expects(const struct registered_code *code, const struct object *program);
/* Looks at such a process, which was sampled, before any code of no file was. */
void registered_code_expect(
	struct registered_code *code, const struct object *object, uint32_t pid, uint64_t time_ns);

/* A frame in code of no file. */
struct registered_frame {
	const struct object *object; /* as above, likewise the next */
	uint32_t pid;
	uint64_t time_ns;
	uint64_t place;      /* where it is: an instruction, or the last byte of a call */
	uint64_t ip;         /* the former, or the address behind the call */
	const uint8_t *code; /* that stood at `ip` at the time; NULL: not known */
	size_t code_bytes;
};

enum registered_found {
	REGISTERED_NOTHING,
	REGISTERED_RULE,  /* *rule is what holds there, borrowed */
	REGISTERED_LATER, /* the process is being looked at; only if `may_wait` */
};

/* The same as registered_code_meet(), and the rule for the frame. */
enum registered_found registered_code_rule(struct registered_code *code,
	const struct registered_frame *frame, bool may_wait, const struct unwind_rule **rule);

/*
 * Calls fn for each function that stood at each of the addresses (ascending, each once), in the
 * order of time for each.
 */
void registered_code_names(const struct registered_code *code, const struct object *object,
	const uint64_t *addresses, size_t count, code_place_fn *fn, void *context);
/* The process has mapped a file, which may have a registry: it is sought anew. */
void registered_code_note_file(struct registered_code *code, const struct object *object);
/* The program image is over. */
void registered_code_forget(struct registered_code *code, const struct object *object);

/* Takes what was read meanwhile, or given up. `news` gets the processes whose code is better known
 * now; the caller takes them out. */
void registered_code_collect(struct registered_code *code);
bool registered_code_is_reading(const struct registered_code *code);
/* Whether a frame waits for a look that has not begun, since the last one was just before. */
bool registered_code_is_wanted(const struct registered_code *code);
/* Becomes readable when there may be something to collect; -1: nothing is being read. */
int registered_code_fd(const struct registered_code *code);

#endif
