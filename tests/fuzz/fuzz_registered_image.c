/* Images that a process registers for debuggers, and what the recorder's worker tells of them. */
#include <stddef.h>
#include <stdint.h>

#include "record/generated/registered_image.h"
#include "record/generated/registered_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void search_image(const struct registered_image *image)
{
	uint8_t code[16] = {0};
	volatile size_t sum = registered_image_bytes(image);
	vec_each(&image->code, piece)
		for (uint64_t at = piece->start - 1; at != piece->start + 16; at++) {
			const struct registered_symbol *symbol = registered_image_symbol(image, at);
			const struct unwind_rule *rule = registered_image_rule(image, at);
			sum += symbol ? image->names.data[symbol->name] : 0;
			sum += rule ? rule->cfa : 0;
			sum += registered_image_match(image, at, code, sizeof(code));
		}
}

static void read_answer(const uint8_t *bytes, size_t len)
{
	struct bytes_buf answer = {(uint8_t *)(uintptr_t)bytes, len, len};
	struct registered_list list;
	struct registered_image image;
	if (registered_memory_list(&answer, &list))
		vec_deinit(&list.entries);
	if (registered_memory_image(&answer, &image)) {
		search_image(&image);
		registered_image_deinit(&image);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct registered_image image = {0};
	struct err *err = registered_image_read(bytes, len, &image);
	if (!err) {
		struct bytes_buf answer = {0};
		search_image(&image);
		registered_image_put(&image, &answer);
		read_answer(answer.data, answer.len);
		bytes_buf_deinit(&answer);
	}
	err_destroy(err);
	registered_image_deinit(&image);
	read_answer(bytes, len);
	return 0;
}
