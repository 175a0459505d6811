/* Any sequence of operations on tables that share: they hold what their simple models do. */
#include <stdint.h>

#include "tests/unit/mapping_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct mapping_model model;
	model_init(&model);
	for (size_t at = 0; at + MODEL_STEP_BYTES <= len; at += MODEL_STEP_BYTES)
		model_step(&model, bytes + at);
	for (int i = 0; i < MODEL_TABLES; i++)
		model_check(&model, i);
	model_deinit(&model);
	return 0;
}
