/*
 * A bytecode is followed by its operands. Ahead of it may stand one that makes operands wider,
 * those of two or four bytes that can be: so a bytecode's size is that of its narrow form, and once
 * or three times as many bytes more as it has such operands. Of baseline code there is a table with
 * the bytes that each bytecode was made to, the first entry being what is ahead of them all.
 *
 * Sources: src/interpreter/bytecodes.h, src/baseline/bytecode-offset-iterator.h of V8; the numbers
 * are those of Bytecodes::kBytecodeSizes in Node.js 18.20.8, 20.20.2, 22.23.3, 24.21.0, 26.10.0.
 */
#include "record/runtime/node/node_bytecodes.h"

#include <string.h>

enum {
	WIDE = 0,
	EXTRA_WIDE = 1, /* this one's operands have four bytes */
	DEBUG_BREAK_WIDE = 2,
	DEBUG_BREAK_EXTRA_WIDE = 3,
};

/* By bytecode, a digit each: bytes, operands that can be wider. */
static const struct {
	uint8_t version, minor;
	const char *sizes, *operands;
} versions[] = {
	{10, 2,
		"1111123455621211111244222322211123334224424434433344444523333333333333"
		"3333333333322221112225545653455564455333333332222144124143423333111322"
		"2222222222222222222242335211112112454412211111111111111111",
		"0000012342310100000133111211100002223113313313322233333312222222222222"
		"2222222222211110001114434542344232244222222221111022012022212222000211"
		"1111111111111111111131224100001001343301100000000000000000"},
	{11, 3,
		"1111123455621211111244222322211123334224424434433344454533333333333333"
		"3333333333222211122245545653455564455333333332222154124143423333111422"
		"2222222222222222222242335211112112454412211111111111111111",
		"0000012342310100000133111211100002223113313313322233333322222222222222"
		"2222222222111100011134434542344232244222222221111022012022212222000311"
		"1111111111111111111131224100001001343301100000000000000000"},
	{12, 4,
		"1111123455621211111244222322211123334242244244344353344454533333333333"
		"3333333333333222211122245545653455564455333333333122211541241434233331"
		"114222222222222222222222242335211112112454412211111111111111111",
		"0000012342310100000133111211100002223131133133133242233333322222222222"
		"2222222222222111100011134434542344232244222222222011100220120222122220"
		"003111111111111111111111131224100001001343301100000000000000000"},
	{13, 6,
		"1111123455621211111244422223222111233342422444244434435334445453333333"
		"3333333333333333322221122224554565345556445533333333312221154124143423"
		"33311142222222222422222222222244235211112112454412211111111111111111",
		"0000012342310100000133311112111000022231311333133313324223333332222222"
		"2222222222222222211110011113443454234423224422222222201110022012022212"
		"22200031111111111311111111111133124100001001343301100000000000000000"},
	{14, 6,
		"1111123455621211111244422223222111233342422444244434435334445453333333"
		"3333334333333333333222211222245545653455564455344444433122211541241434"
		"2333331114222222222242222222222224423525111121124544122111111111111111"
		"11",
		"0000012342310100000133311112111000022231311333133313324223333332222222"
		"2222222222222222222111100111134434542344232244211111122011100220120222"
		"1222220003111111111131111111111113312414000010013433010000000000000000"
		"00"},
};

bool node_baseline_places_init(struct node_baseline_places *places, uint8_t version, uint8_t minor,
	const uint8_t *bytecodes, size_t len, const uint8_t *table, size_t table_len)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (versions[i].version != version || versions[i].minor != minor)
			continue;
		*places = (struct node_baseline_places){.sizes = versions[i].sizes,
			.operands = versions[i].operands,
			.nr_sizes = strlen(versions[i].sizes),
			.bytecodes = bytecodes,
			.len = len,
			.table = bytes_cursor(table, table_len)};
		places->end = (uint32_t)bytes_get_varint(&places->table);
		return !places->table.overrun;
	}
	return false;
}

/* 0: it is none. */
static uint32_t bytecode_size(const struct node_baseline_places *places, size_t at)
{
	uint32_t scale = 1, prefix = 0;
	uint8_t code = places->bytecodes[at];
	if (code <= DEBUG_BREAK_EXTRA_WIDE) {
		scale = code == WIDE || code == DEBUG_BREAK_WIDE ? 2 : 4;
		prefix = 1;
		code = at + 1 < places->len ? places->bytecodes[at + 1] : UINT8_MAX;
	}
	if (code >= places->nr_sizes)
		return 0;
	uint32_t size = (uint32_t)(places->sizes[code] - '0');
	uint32_t operands = (uint32_t)(places->operands[code] - '0');
	return prefix + size + operands * (scale - 1);
}

bool node_baseline_places_next(struct node_baseline_places *places)
{
	if (places->next_bytecode >= places->len || !bytes_left(&places->table))
		return false;
	uint32_t size = bytecode_size(places, places->next_bytecode);
	places->bytecode = places->next_bytecode;
	places->next_bytecode += size;
	places->start = places->end;
	places->end += (uint32_t)bytes_get_varint(&places->table);
	return size && !places->table.overrun && places->end >= places->start;
}
