#include "format/import/pprof_tables.h"

enum pprof_profile_field {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAP = 3,
	PROFILE_PLACE = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

enum wire_type { /* protobuf.dev/programming-guides/encoding */
	WIRE_VARINT = 0,
	WIRE_8_BYTES = 1,
	WIRE_BYTES = 2,
	WIRE_4_BYTES = 5,
};

bool pprof_field_next(struct bytes_cursor *message, struct pprof_field *ret)
{
	if (!bytes_left(message))
		return false;
	uint64_t tag = bytes_get_varint(message);
	struct pprof_field field = {.number = (uint32_t)(tag >> 3), .is_number = true};
	switch (tag & 7) {
	case WIRE_VARINT:
		field.value = bytes_get_varint(message);
		break;
	case WIRE_8_BYTES:
		field.value = bytes_get_u64(message);
		break;
	case WIRE_4_BYTES:
		field.value = bytes_get_u32(message);
		break;
	case WIRE_BYTES:
		field.is_number = false;
		field.bytes = bytes_get_record(message);
		break;
	default:
		message->overrun = true;
	}
	*ret = field;
	return !message->overrun;
}

bool pprof_number_next(struct pprof_field *field, uint64_t *ret)
{
	if (field->is_number) {
		*ret = field->value;
		field->is_number = false; /* `bytes` are none */
		return true;
	}
	if (!bytes_left(&field->bytes))
		return false;
	*ret = bytes_get_varint(&field->bytes);
	return !field->bytes.overrun;
}

/* ---- messages ---- */

static struct pprof_type get_type(struct bytes_cursor message)
{
	struct pprof_type type = {0};
	for (struct pprof_field field; pprof_field_next(&message, &field);)
		*(field.number == 1 ? &type.name : &type.unit) = field.value;
	return type;
}

/* Numbers of fields 1, 2, ... into an array; those beyond are passed over. */
static void get_pprof_numbers(struct bytes_cursor message, uint64_t *numbers, uint32_t count)
{
	for (struct pprof_field field; pprof_field_next(&message, &field);)
		if (field.is_number && field.number && field.number <= count)
			numbers[field.number - 1] = field.value;
}

static void take_pprof_map(struct pprof_tables *tables, struct bytes_cursor message)
{
	uint64_t numbers[6] = {0}; /* id, start, limit, offset, path, build ID */
	get_pprof_numbers(message, numbers, 6);
	vec_push(&tables->maps, (struct pprof_map){.id = numbers[0],
					.start = numbers[1],
					.offset = numbers[3],
					.path = numbers[4],
					.build_id = numbers[5]});
	*map_put(&tables->maps_by_id, numbers[0], NULL) = tables->maps.len;
}

static void take_pprof_function(struct pprof_tables *tables, struct bytes_cursor message)
{
	uint64_t numbers[5] = {0}; /* id, name, mangled name, file, line */
	get_pprof_numbers(message, numbers, 5);
	vec_push(&tables->functions,
		(struct pprof_code){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]});
	*map_put(&tables->functions_by_id, numbers[0], NULL) = tables->functions.len;
}

static void take_pprof_place(struct pprof_tables *tables, struct bytes_cursor message)
{
	uint64_t numbers[3] = {0}; /* id, mapping, address */
	get_pprof_numbers(message, numbers, 3);
	vec_push(
		&tables->places, (struct pprof_place){numbers[0], numbers[1], numbers[2], message});
	*map_put(&tables->places_by_id, numbers[0], NULL) = tables->places.len;
}

static void take_profile_field(struct pprof_tables *tables, const struct pprof_field *field)
{
	switch ((enum pprof_profile_field)field->number) {
	case PROFILE_TYPE:
		vec_push(&tables->types, get_type(field->bytes));
		return;
	case PROFILE_SAMPLE:
		vec_push(&tables->samples, field->bytes);
		return;
	case PROFILE_MAP:
		take_pprof_map(tables, field->bytes);
		return;
	case PROFILE_PLACE:
		take_pprof_place(tables, field->bytes);
		return;
	case PROFILE_FUNCTION:
		take_pprof_function(tables, field->bytes);
		return;
	case PROFILE_STRING:
		vec_push(&tables->strings, (struct pprof_text){(const char *)field->bytes.pos,
						   bytes_left(&field->bytes)});
		return;
	case PROFILE_TIME:
		tables->time_ns = field->value;
		return;
	case PROFILE_DURATION:
		tables->duration_ns = field->value;
		return;
	case PROFILE_PERIOD_TYPE:
		tables->period_type = get_type(field->bytes);
		return;
	case PROFILE_PERIOD:
		tables->period = field->value;
		return;
	}
}

/* Numbers and bytes stand where they belong; what is not known may be either. */
static bool has_right_type(const struct pprof_field *field)
{
	switch ((enum pprof_profile_field)field->number) {
	case PROFILE_TYPE:
	case PROFILE_SAMPLE:
	case PROFILE_MAP:
	case PROFILE_PLACE:
	case PROFILE_FUNCTION:
	case PROFILE_STRING:
	case PROFILE_PERIOD_TYPE:
		return !field->is_number;
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
		return field->is_number;
	}
	return field->number != 0;
}

struct err *pprof_tables_read(struct pprof_tables *tables, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	struct pprof_field field;
	size_t offset = 0;
	while (pprof_field_next(&cursor, &field)) {
		if (!has_right_type(&field))
			break;
		take_profile_field(tables, &field);
		offset = bytes_offset(&cursor);
	}
	if (offset == len)
		return NULL;
	return err_new(ERR_FORMAT, "it is damaged or cut at offset %zu of %zu (uncompressed)",
		offset, len);
}

void pprof_tables_deinit(struct pprof_tables *tables)
{
	vec_deinit(&tables->strings);
	vec_deinit(&tables->types);
	vec_deinit(&tables->maps);
	vec_deinit(&tables->functions);
	vec_deinit(&tables->places);
	vec_deinit(&tables->samples);
	map_deinit(&tables->maps_by_id);
	map_deinit(&tables->functions_by_id);
	map_deinit(&tables->places_by_id);
}

/* ---- finding ---- */

struct pprof_text pprof_tables_text(const struct pprof_tables *tables, uint64_t string)
{
	bool is_there = string < tables->strings.len && tables->strings.data[string].len;
	return is_there ? tables->strings.data[string] : (struct pprof_text){"", 0};
}

const struct pprof_map *pprof_tables_map(const struct pprof_tables *tables, uint64_t id)
{
	const uint64_t *index = map_get(&tables->maps_by_id, id);
	return index ? &tables->maps.data[*index - 1] : NULL;
}

const struct pprof_code *pprof_tables_function(const struct pprof_tables *tables, uint64_t id)
{
	const uint64_t *index = map_get(&tables->functions_by_id, id);
	return index ? &tables->functions.data[*index - 1] : NULL;
}

const struct pprof_place *pprof_tables_place(const struct pprof_tables *tables, uint64_t id)
{
	const uint64_t *index = map_get(&tables->places_by_id, id);
	return index ? &tables->places.data[*index - 1] : NULL;
}
