/* A small profile of pprof, uncompressed. */
#ifndef EBPROF_FORGED_PPROF_H
#define EBPROF_FORGED_PPROF_H

#include <stdint.h>
#include <string.h>

#include "format/base/bytes.h"

#define FORGED_PPROF_UNUSED __attribute__((unused))

FORGED_PPROF_UNUSED static void forged_pprof_number(
	struct bytes_buf *out, uint32_t field, uint64_t value)
{
	bytes_put_varint(out, (uint64_t)field << 3);
	bytes_put_varint(out, value);
}

/* Frees the message. */
FORGED_PPROF_UNUSED static void forged_pprof_message(
	struct bytes_buf *out, uint32_t field, struct bytes_buf *message)
{
	bytes_put_varint(out, (uint64_t)field << 3 | 2);
	bytes_put_blob(out, message->data, message->len);
	bytes_buf_deinit(message);
}

/* A message of numbers, those of fields 1, 2, ...; 0 is left out. */
FORGED_PPROF_UNUSED static struct bytes_buf forged_pprof_numbers(
	const uint64_t *values, uint32_t count)
{
	struct bytes_buf message = {0};
	for (uint32_t i = 0; i < count; i++)
		if (values[i])
			forged_pprof_number(&message, i + 1, values[i]);
	return message;
}

/*
 * Types samples/count and cpu/nanoseconds; a stack of main and outer, into which inner was inlined,
 * of 3 samples and 30 ns, whose labels are a thread and a user; one of main, of a sample and 5 ns.
 * `sign`: -1 makes the values of the first negative.
 */
FORGED_PPROF_UNUSED static struct bytes_buf forged_pprof(int sign)
{
	static const char *const strings[] = {"", "samples", "count", "cpu", "nanoseconds",
		"/bin/program", "deadbeef", "main", "outer", "inner", "a.c", "tid", "user",
		"alice"};
	enum {
		SAMPLES = 1,
		COUNT,
		CPU,
		NS,
		PATH,
		BUILD_ID,
		MAIN,
		OUTER,
		INNER,
		FILE_NAME,
		TID,
		USER,
		ALICE
	};
	struct bytes_buf out = {0}, message, line;
	message = forged_pprof_numbers((uint64_t[]){SAMPLES, COUNT}, 2);
	forged_pprof_message(&out, 1, &message);
	message = forged_pprof_numbers((uint64_t[]){CPU, NS}, 2);
	forged_pprof_message(&out, 1, &message);
	message = forged_pprof_numbers((uint64_t[]){2, 1}, 1); /* a single place, then another */
	forged_pprof_number(&message, 1, 1);
	forged_pprof_number(&message, 2, (uint64_t)(3 * sign));
	forged_pprof_number(&message, 2, (uint64_t)(30 * sign));
	line = forged_pprof_numbers((uint64_t[]){TID, 0, 77}, 3);
	forged_pprof_message(&message, 3, &line);
	line = forged_pprof_numbers((uint64_t[]){USER, ALICE}, 2);
	forged_pprof_message(&message, 3, &line);
	forged_pprof_message(&out, 2, &message);
	message = forged_pprof_numbers((uint64_t[]){1}, 1);
	forged_pprof_number(&message, 2, 1);
	forged_pprof_number(&message, 2, 5);
	forged_pprof_message(&out, 2, &message);
	message = forged_pprof_numbers((uint64_t[]){1, 0x400000, 0x402000, 0, PATH, BUILD_ID}, 6);
	forged_pprof_message(&out, 3, &message);
	for (uint64_t id = 1; id <= 2; id++) {
		message =
			forged_pprof_numbers((uint64_t[]){id, 1, id == 1 ? 0x401105 : 0x401010}, 3);
		if (id == 2) {
			line = forged_pprof_numbers((uint64_t[]){3, 9}, 2);
			forged_pprof_message(&message, 4, &line);
		}
		line = forged_pprof_numbers((uint64_t[]){id, 20}, 2);
		forged_pprof_message(&message, 4, &line);
		forged_pprof_message(&out, 4, &message);
	}
	for (uint64_t id = 1; id <= 3; id++) {
		message = forged_pprof_numbers((uint64_t[]){id, MAIN + id - 1, 0, FILE_NAME, 3}, 5);
		forged_pprof_message(&out, 5, &message);
	}
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		bytes_put_varint(&out, 6 << 3 | 2);
		bytes_put_blob(&out, strings[i], strlen(strings[i]));
	}
	return out;
}

#endif
