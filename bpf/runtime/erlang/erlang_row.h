/* What the BPF programs have to know of a file with Erlang's emulator, BEAM, in it. */
#ifndef EBPROF_ERLANG_ROW_H
#define EBPROF_ERLANG_ROW_H

#include "bpf/runtime/runtime_row.h"

enum erlang_flag {
	ERLANG_BOXED_ATOMS = 1, /* the text of an atom is a binary, which a term points to */
};

struct erlang_row {
	unsigned char is_complete, flags; /* enum erlang_flag */
	unsigned char version;            /* of OTP: 25, say */
	unsigned char zero;
	unsigned char build_id[16]; /* as much as there is of it */

	/* Addresses of these, by what the mapping's delta is taken from. The first three only until
	 * it is complete: the data, and the name of the table of atoms. */
	unsigned int data, data_end, atoms_name;
	unsigned int ranges; /* the first of three tables of where modules are */
	unsigned int atoms;  /* of the pointer to the table's segments */

	/* Where a scheduler's thread goes on behind what it runs; 0: unknown. */
	unsigned int scheduler_return;

	unsigned int own_module, normal_exit; /* atoms: erts_beamasm, normal_exit */
	/* Of what a scheduler keeps at the end of its stack: up to the registers; all of it. */
	unsigned int registers_at, registers_bytes;
	/* Offsets: in a module's head, in a Process, in what is known of a scheduler. */
	unsigned short functions_at, resume_at, scheduler_at, initial_at, current_at;
	unsigned short registered_at, dictionary_at; /* in a Process, */
	unsigned short thread_at; /* ... in what is known of a scheduler: its thread's pointer */
	/* How far the number of a process is shifted, and of how many bits it is; 0: unknown. */
	unsigned char id_shift, id_bits;
};

/* Where the recorder finds the lines of a function: sent in place of them. */
struct erlang_function {
	unsigned long long module, info;   /* addresses: of the module's head, of the function */
	unsigned long long atoms;          /* address of the pointer to the table's segments */
	unsigned long long md5_at, md5[2]; /* of the module: where it stands, and what it is */
	unsigned short functions_at;
	unsigned char flags;
	unsigned char zero[5];
};

_Static_assert(sizeof(struct erlang_function) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");
_Static_assert(sizeof(struct erlang_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
