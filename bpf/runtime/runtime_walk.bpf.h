/* How far a walk through the script frames of a stack has come. */
#ifndef EBPROF_RUNTIME_WALK_BPF_H
#define EBPROF_RUNTIME_WALK_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/runtime_row.h"

struct python_walk {
	__u64 state;    /* whose frames these are: of the thread in one of the interpreters */
	__u64 frame;    /* the next; 0: no more */
	__u64 cframe;   /* with PYTHON_HAS_CFRAME, that of the next loop */
	__u64 first;    /* of this loop */
	__u64 entering; /* a frame that the loop was called for and has not yet in hand; or 0 */
	__u64 code_address;
	__u64 frame_head[PYTHON_FRAME_BYTES / 8];
	__u64 code_head[PYTHON_CODE_BYTES / 8];
};

struct php_walk {
	__u64 frame;  /* the next; 0: no more */
	__u64 opline; /* of the innermost frame, if its instruction is known from a register */
	__u64 code_address;
	__u64 top;       /* the last frame of the loop before */
	__u64 generator; /* whose frame was the last, or 0 */
	__u8 unnamed;    /* enum php_unnamed */
	__u64 head[7];
	__u64 code[PHP_CODE_BYTES / 8];
};

struct ruby_walk {
	__u64 frame, end; /* the next control frame; where the last one ends */
	__u64 body_address;
	__u64 frame_head[RUBY_FRAME_BYTES / 8];
	__u64 body_head[RUBY_BODY_BYTES / 8];
	__u64 environment[3];
	__u64 method[5], definition[5]; /* of the frame at hand, if it is of a method */
	__u64 owner, path;              /* the method's class, as in the name; 0: none */
	__u8 is_core_done; /* rb_vm_exec() comes next, whose frames were those of vm_exec_core() */
	__u8 is_entered;   /* there was a loop */
	__u8 is_first;     /* no frame was yet, and the innermost loop has called others */
};

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

enum {
	LUA_HEAD_WORDS = 16,   /* a power of two */
	LUA_AROUND_WORDS = 38, /* of the native stack, where a state is looked for */
};

struct lua_walk {
	__u64 state;  /* of the loop before */
	__u64 global; /* a global state that was checked */
	__u64 call;   /* the next; 0: no more */
	__u64 next;   /* ... of the loop at hand, when something is left of the one before; or 0 */
	__u64 found, found_call, found_place; /* a state, its innermost call, and where that is */
	__u64 innermost, place;               /* where calls do not say it themselves: likewise */
	__u64 function, function_proto; /* ... where one lies that was looked at, and its code */
	__u32 function_status;          /* ... and what it is */
	__u64 proto_address;
	__u32 status; /* of the call at hand */
	__u8 is_first;
	__u64 head[LUA_HEAD_WORDS]; /* of the call at hand */
	__u64 proto[LUA_PROTO_BYTES / 8];
	__u64 around[LUA_AROUND_WORDS];
};

enum {
	JIT_TRACE_BYTES = 120,
	JIT_MAX_ENTRIES = 64, /* a power of two */
};

/* SnapShot of LuaJIT. */
struct jit_snapshot {
	__u32 entries; /* where they are in the trace's map */
	__u16 reference;
	__u16 code; /* from where on it counts */
	__u8 nr_slots, top_slot, nr_entries, count;
};

struct luajit_walk {
	__u64 state, global;   /* whose frames they are */
	__u64 bottom, top;     /* of its stack */
	__u64 next_cframe;     /* the interpreter's native frame that is its next */
	__u64 frame;           /* on the state's stack: the link at its beginning; 0: none */
	__u64 function, place; /* of the next frame to be pushed, with the instruction */
	__u64 place_in_memory; /* likewise: where it may be if not there */
	__u64 caller, caller_place;
	__u64 proto_address;
	__u64 ir;       /* of the trace */
	__u32 link;     /* the number of the entry that is the frame's link; 0: not in a trace */
	__u8 is_called; /* the function of the frame at hand, by an instruction of its caller */
	__u64 head[16]; /* of what is looked at, a state or a trace */
	__u64 cframe[10];
	__u64 proto[16];
	__u32 entry[JIT_MAX_ENTRIES];
};

enum runtime_state {
	RUNTIME_OUTSIDE = 0,
	RUNTIME_RUNNING, /* script frames come before the native frame at hand */
	RUNTIME_DONE,    /* they came; the native frame itself is next */
	RUNTIME_REST,    /* nothing else is left */
};

/* Whether the thread has a shadow stack. */
enum runtime_shadow {
	RUNTIME_SHADOW_UNKNOWN = 0,
	RUNTIME_SHADOW_NONE,
	RUNTIME_SHADOW_FOUND,
};

struct runtime_walk {
	__u8 state; /* enum runtime_state */
	__u8 has_thread;
	__u8 was_sought;    /* whether code of no file is a trace of LuaJIT */
	__u8 shadow;        /* enum runtime_shadow */
	__u8 shadow_is_cut; /* and there were more */
	__u8 is_shadow;     /* the frames at hand are those of the shadow stack */
	__u32 shadow_left;  /* of its frames, those not pushed yet */
	__u32 file;         /* whose row it is; 0: none */
	__u64 process;      /* what tells it from others: identify_process() */
	__u64 delta;        /* of its mapping */
	__u64 compiled;     /* where in such code the thread is; 0: it is not in any */
	__u64 low, high;    /* the native frame of the interpreter's loop: [low, high) */
	__u32 nr_frames;    /* of the stack when the loop was entered, and its hash */
	__u64 hash;
	struct runtime_row row;
	union {
		struct python_walk python;
		struct ruby_walk ruby;
		struct php_walk php;
		struct perl_walk perl;
		struct lua_walk lua;
		struct luajit_walk luajit;
	};
};

#endif
