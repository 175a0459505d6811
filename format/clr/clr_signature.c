#include "format/clr/clr_signature.h"

#include <string.h>

enum {
	MAX_DEPTH = 16,
	MAX_ARGUMENTS = 64,

	/* II.23.1.16 */
	ELEMENT_PTR = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_VAR = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERICINST = 0x15,
	ELEMENT_FNPTR = 0x1b,
	ELEMENT_SZARRAY = 0x1d,
	ELEMENT_MVAR = 0x1e,
	ELEMENT_CMOD_REQD = 0x1f,
	ELEMENT_CMOD_OPT = 0x20,
	/* Of ReadyToRun code alone: */
	ELEMENT_VAR_ZAPSIG = 0x3b,
	ELEMENT_NATIVE_VALUETYPE_ZAPSIG = 0x3d,
	ELEMENT_CANON_ZAPSIG = 0x3e,
	ELEMENT_MODULE_ZAPSIG = 0x3f,

	/* A TypeDefOrRef: */
	TOKEN_SHIFT = 2,
	TOKEN_DEF = 0,
	TOKEN_REF = 1,
	TOKEN_SPEC = 2,
	SCOPE_IS_TYPE_REF = 3,
};

static const char *const words[] = {
	[0x01] = "void",
	[0x02] = "bool",
	[0x03] = "char",
	[0x04] = "sbyte",
	[0x05] = "byte",
	[0x06] = "short",
	[0x07] = "ushort",
	[0x08] = "int",
	[0x09] = "uint",
	[0x0a] = "long",
	[0x0b] = "ulong",
	[0x0c] = "float",
	[0x0d] = "double",
	[0x0e] = "string",
	[0x16] = "typedref",
	[0x18] = "nint",
	[0x19] = "nuint",
	[0x1c] = "object",
	[ELEMENT_CANON_ZAPSIG] = "__Canon",
};

void clr_owner_deinit(struct clr_owner *owner)
{
	str_deinit(&owner->name);
	clr_arguments_deinit(&owner->arguments);
}

static bool put_type(const struct clr_metadata *metadata, uint64_t *at, int depth, struct str *out);

/* A type of another module, with those that it is nested in. */
static void put_type_ref(
	const struct clr_metadata *metadata, uint32_t row, int depth, struct str *out)
{
	uint32_t scope = clr_metadata_get(metadata, CLR_TYPE_REF, row, 0);
	uint32_t space = clr_metadata_get(metadata, CLR_TYPE_REF, row, 2);
	if ((scope & 3) == SCOPE_IS_TYPE_REF && depth < MAX_DEPTH) {
		put_type_ref(metadata, scope >> TOKEN_SHIFT, depth + 1, out);
		str_putc(out, '.');
	} else if (space) {
		clr_metadata_put_string(metadata, space, out);
		str_putc(out, '.');
	}
	clr_metadata_put_string(metadata, clr_metadata_get(metadata, CLR_TYPE_REF, row, 1), out);
}

static bool take_type_owner(
	const struct clr_metadata *metadata, uint64_t *at, int depth, struct clr_owner *ret);

static bool take_token(
	const struct clr_metadata *metadata, uint32_t token, int depth, struct clr_owner *ret)
{
	uint32_t row = token >> TOKEN_SHIFT, blob, len;
	uint64_t at;
	switch (token & 3) {
	case TOKEN_DEF:
		ret->type = row;
		return row;
	case TOKEN_REF:
		put_type_ref(metadata, row, 0, &ret->name);
		return ret->name.len;
	case TOKEN_SPEC:
		if (depth) /* none leads to another one, which could go on without an end */
			return false;
		blob = clr_metadata_get(metadata, CLR_TYPE_SPEC, row, 0);
		at = clr_metadata_blob(metadata, blob, &len);
		return len && take_type_owner(metadata, &at, depth + 1, ret);
	default:
		return false;
	}
}

static bool signature_take_arguments(
	const struct clr_metadata *metadata, uint64_t *at, int depth, struct clr_arguments *ret)
{
	uint32_t count = clr_bytes_packed(metadata->bytes, at);
	if (count > MAX_ARGUMENTS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		if (!put_type(metadata, at, depth + 1, &name))
			return false;
		clr_arguments_add(ret, str_text(&name));
	}
	return true;
}

static bool take_type_owner(
	const struct clr_metadata *metadata, uint64_t *at, int depth, struct clr_owner *ret)
{
	uint64_t before = *at;
	uint8_t element = clr_bytes_u8(metadata->bytes, (*at)++);
	if (depth > MAX_DEPTH || metadata->bytes->is_bad)
		return false;
	if (element == ELEMENT_VALUETYPE || element == ELEMENT_CLASS)
		return take_token(metadata, clr_bytes_packed(metadata->bytes, at), depth, ret);
	if (element == ELEMENT_GENERICINST)
		return take_type_owner(metadata, at, depth + 1, ret) &&
		       signature_take_arguments(metadata, at, depth, &ret->arguments);
	*at = before;
	return put_type(metadata, at, depth + 1, &ret->name);
}

static void put_owner(
	const struct clr_metadata *metadata, const struct clr_owner *owner, struct str *out)
{
	if (owner->type)
		clr_names_put_type(metadata, owner->type, &owner->arguments, out);
	else
		clr_names_put_with(clr_names_word(str_text(&owner->name)), &owner->arguments, out);
}

/* Bounds of an array; they are left out. */
static void skip_shape(const struct clr_metadata *metadata, uint64_t *at, struct str *out)
{
	uint32_t rank = clr_bytes_packed(metadata->bytes, at);
	for (int part = 0; part < 2; part++)
		for (uint32_t left = clr_bytes_packed(metadata->bytes, at);
			left && !metadata->bytes->is_bad; left--)
			clr_bytes_packed(metadata->bytes, at);
	str_putc(out, '[');
	str_pad(out, ',', rank && rank <= MAX_ARGUMENTS ? rank - 1 : 0);
	str_putc(out, ']');
}

static bool put_type(const struct clr_metadata *metadata, uint64_t *at, int depth, struct str *out)
{
	struct clr_bytes *bytes = metadata->bytes;
	uint64_t before = *at;
	uint8_t element = clr_bytes_u8(bytes, (*at)++);
	if (depth > MAX_DEPTH || bytes->is_bad)
		return false;
	if (element < sizeof(words) / sizeof(*words) && words[element]) {
		str_puts(out, words[element]);
		return true;
	}
	switch (element) {
	case ELEMENT_VALUETYPE:
	case ELEMENT_CLASS:
	case ELEMENT_GENERICINST: {
		CLEANUP(clr_owner_deinit) struct clr_owner owner = {0};
		*at = before;
		if (!take_type_owner(metadata, at, depth + 1, &owner))
			return false;
		put_owner(metadata, &owner, out);
		return true;
	}
	case ELEMENT_PTR:
	case ELEMENT_BYREF:
	case ELEMENT_SZARRAY:
		if (!put_type(metadata, at, depth + 1, out))
			return false;
		str_puts(out, element == ELEMENT_PTR ? "*" : element == ELEMENT_BYREF ? "&" : "[]");
		return true;
	case ELEMENT_ARRAY:
		if (!put_type(metadata, at, depth + 1, out))
			return false;
		skip_shape(metadata, at, out);
		return true;
	case ELEMENT_VAR:
	case ELEMENT_MVAR:
	case ELEMENT_VAR_ZAPSIG:
		str_printf(out, "T%u", clr_bytes_packed(bytes, at));
		return true;
	case ELEMENT_CMOD_REQD:
	case ELEMENT_CMOD_OPT:
		clr_bytes_packed(bytes, at);
		return put_type(metadata, at, depth + 1, out);
	case ELEMENT_NATIVE_VALUETYPE_ZAPSIG:
		return put_type(metadata, at, depth + 1, out);
	default: /* ELEMENT_MODULE_ZAPSIG: its tokens are another module's */
		return false;
	}
}

bool clr_signature_put_type(const struct clr_metadata *metadata, uint64_t *at, struct str *out)
{
	return put_type(metadata, at, 0, out);
}

bool clr_signature_take_owner(
	const struct clr_metadata *metadata, uint64_t *at, struct clr_owner *ret)
{
	return take_type_owner(metadata, at, 0, ret);
}

bool clr_signature_take_token(
	const struct clr_metadata *metadata, uint32_t token, struct clr_owner *ret)
{
	return take_token(metadata, token, 0, ret);
}
