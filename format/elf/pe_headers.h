/*
 * The headers of a PE image: what .NET's compilers write, also for Linux. Its sections are mapped
 * by themselves, at multiples of 64 KiB, or the file is as a whole.
 *
 * Sources: "PE Format" of Microsoft's documentation; ECMA-335, II.25; of dotnet/runtime
 * docs/design/coreclr/botr/readytorun-format.md for the machine of images for Linux.
 */
#ifndef EBPROF_PE_HEADERS_H
#define EBPROF_PE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PE_MAX_SECTIONS = 32,
	PE_DIRECTORY_DEBUG = 6,
	PE_DIRECTORY_CLI = 14,
	PE_DIRECTORIES = 16,
	PE_CLI_METADATA = 8, /* in the header of the CLI: where these directories stand */
	PE_CLI_MANAGED_CODE = 64,
};

struct pe_section {
	uint32_t address, bytes; /* in memory */
	uint32_t offset, bytes_in_file;
	bool is_code;
};

struct pe_headers {
	uint16_t machine; /* EM_X86_64, EM_AARCH64, or EM_NONE: of any, or another */
	/* Of each function in the table of functions; with 8 their unwind information alone says
	 * where they end. */
	uint16_t function_bytes;
	uint32_t time_stamp, image_bytes, headers_bytes;
	struct {
		uint32_t address, bytes;
	} directory[PE_DIRECTORIES];
	uint32_t nr_sections;
	struct pe_section sections[PE_MAX_SECTIONS];
};

/* By how a file begins; all headers must be in there. False: it is no PE image. */
bool pe_headers_parse(const uint8_t *head, size_t len, struct pe_headers *ret);
/* Where the byte that is at an address in memory is in the file. False: it is not. */
bool pe_headers_offset(const struct pe_headers *headers, uint32_t address, uint64_t *ret);

#endif
